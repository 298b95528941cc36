"""Whatever a learner calls a thing comes out as text, never as code."""

import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import NASTY, both, groups, texts

from naive_graph import Graph, Variable, draw, scope
from naive_graph.views.drawing.text_metrics import visible


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.alt = [], None

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.alt = dict(attributes).get("alt", self.alt)


@pytest.mark.parametrize("name", NASTY)
def test_a_node_s_name_comes_out_as_text(name):
    for svg in both(draw(Variable(1.0, name=name) * 2)):
        assert groups(svg)["row-0"][0] == visible(name)


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("fold", [True, False])
def test_a_scope_s_name_comes_out_as_text(name, fold):
    with scope(name):
        y = Variable(1.0) * 2
    for svg in both(draw(y, fold=fold)):
        assert groups(svg)["scope-0"][0] == visible(name)


@pytest.mark.parametrize("name", NASTY)
def test_a_title_comes_out_as_text(name):
    for svg in both(draw(Variable(1.0), title=name)):
        assert visible(name, 120) in texts(svg)


@pytest.mark.parametrize("name", NASTY)
def test_the_notebook_s_html_is_one_image_whose_words_are_text(name):
    found = Tags()
    found.feed(draw(Variable(1.0) * 2, title=name)._repr_mimebundle_()["text/html"])
    (*tags, script), dot = found.tags, ["script"] * found.tags.count("script")  # once also dot, for all drawings
    assert [*tags, script] == ["div", "div", "img", *dot[1:], "style", "script"] and visible(name, 120) in found.alt


@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1, max_size=12))
def test_any_text_at_all_gives_a_picture_that_holds_it(name):
    with Graph.scratch():
        for svg in both(draw(Variable(1.0, name=name) * 2)):
            said = "".join(text.text or "" for text in ElementTree.fromstring(svg).iter()).replace("\xa0", " ")
            assert visible(name).strip() in said


def test_spaces_of_other_writings_and_joined_letters_are_kept():
    assert visible("学\u3000习\xa0率 \u0645\u06cc\u200c\u062e") == "学 习 率 \u0645\u06cc\u200c\u062e"
