"""Every page that we write can be used by everybody: axe-core finds nothing serious, on light ground or dark."""

import pytest
from browsing import serious

from naive_graph import Graph, History, Variable, step
from naive_graph.classroom.pages import class_page, student_page

pytestmark = pytest.mark.browser


def film(folder):
    x, history = Variable(6.0, name="x"), History()
    f = (x - 7) ** 2
    for _ in range(5):
        Graph.forward()
        Graph.backward(f)
        history.record(f=f.value, x=x.value)
        x.value -= 0.1 * x.grad
        Graph.kill_grad()
    return history.animate(f, x, save=folder / "film.html")


def walk(folder):
    x = Variable(3.0, name="x")
    return step(x * x).save(folder / "walk.html")


def of_a_student(folder):
    return written(folder / "student.html", student_page("Ada", []))


def of_a_class(folder):
    return written(folder / "class.html", class_page([]))


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", [film, walk, of_a_student, of_a_class], ids=lambda page: page.__name__)
def test_nothing_serious_keeps_anybody_from_using_a_page(browser, tmp_path, page, scheme):
    with Graph.scratch():
        address = page(tmp_path).as_uri()
    context = browser.new_context(offline=True, color_scheme=scheme)
    view = context.new_page()
    view.goto(address)
    assert serious(view) == []
    context.close()
