"""The glossary has each term once, its examples run, and the lessons that it names speak of it."""

import doctest
import re
from types import SimpleNamespace

import pytest
from lesson_files import FOLDER, builder_in, said, titles

TEXT = (FOLDER / "notes" / "glossary.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^## (.+)\n\n((?:(?!## ).*\n)+?)\nIn \*(.+)\*\.\n", re.MULTILINE)
ENTRIES = ENTRY.findall(TEXT)


def test_every_term_stands_once_in_alphabetical_order_with_its_meaning_and_its_lesson():
    terms = re.findall("^## (.+)", TEXT, re.MULTILINE)
    assert terms == [term for term, _, _ in ENTRIES]
    assert terms == sorted({each.casefold(): each for each in terms}.values(), key=str.casefold)


def test_every_lesson_has_terms_and_speaks_of_them_or_of_the_word_that_it_has_for_them():
    lessons = {title: said(lesson) for title, lesson in titles().items()}
    assert {title for _, _, title in ENTRIES} == lessons.keys()
    for term, meaning, title in ENTRIES:
        words = [term.split()[0][:5], *re.findall(r"\*([^*]+)\*", meaning)]  # "normalisation" is `normalise` there
        assert any(re.search(rf"\b{re.escape(word)}", lessons[title], re.IGNORECASE) for word in words), term


def test_the_examples_give_what_they_show():
    examples = doctest.DocTestParser().get_doctest(TEXT, {}, "glossary.md", "glossary.md", 0)
    ran = doctest.DocTestRunner(verbose=False).run(examples)
    assert ran.attempted > 20 and ran.failed == 0


@pytest.fixture(scope="module")
def linking():
    for tool in ("nbformat", "jupytext", "nbclient"):
        pytest.importorskip(tool)
    builder_in()  # which knows where it is
    import linking

    return linking


def test_each_term_is_linked_once_in_the_lesson_that_explains_it_and_in_no_other(linking):
    for title, lesson in titles().items():
        ours = sorted(linking.place(term) for term, _, explains in ENTRIES if explains == title)
        assert sorted(linking.links(said(lesson))) == ours, title


def test_a_term_is_linked_where_it_is_bold_or_first_stands_and_not_in_programs_headings_or_formulas(linking):
    glossary = (
        "## ice\n\nCold.\n\nIn *Water*.\n\n## snow ball\n\nA *flake*.\n\nIn *Water*.\n\n## rain\n\nWet.\n\nIn *Fire*.\n"
    )
    texts = [
        "# Water\n\nice $ice$ `ice` nice",
        "## A flake\n\n```\nflake\n```\n| flake |\nThe **ices**, two flakes, a flake.",
    ]
    cells = [SimpleNamespace(cell_type="markdown", source=each) for each in texts]
    linking.linked(cells, glossary)
    assert cells[0].source == texts[0]
    assert cells[1].source.endswith(
        "The **[ices](notes/glossary.md#ice)**, two [flakes](notes/glossary.md#snow-ball), a flake."
    )
