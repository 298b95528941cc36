"""`%%sequential` in a notebook: networks become names, mistakes are told with their place."""

import re

import pytest
from written_networks import V1, V2

from naive_graph.sequential.notebook import highlight_html

InteractiveShell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "naive_graph.sequential.notebook")
    yield shell
    InteractiveShell.clear_instance()


def test_the_networks_of_a_cell_are_names(shell):
    shown = shell.run_cell_magic("sequential", "program", V1)
    assert shell.user_ns["res"].size == 18 and list(shell.user_ns["program"]) == ["res"]
    assert "Dense" in shown._repr_html_()


def test_a_mistake_changes_nothing_and_has_its_place(shell, capsys):
    assert shell.run_cell_magic("sequential", "", V1.replace("Dense(3", "Dence(3")) is None
    assert "res" not in shell.user_ns
    assert "line 3, column 7: UNKNOWN_LAYER Dence (did you mean Dense)" in capsys.readouterr().err


def test_colours_change_no_letter():
    plain = (
        re.sub(r"<[^>]*>", "", highlight_html(V2)).replace("&quot;", '"').replace("&#x27;", "'").replace("&lt;", "<")
    )
    assert plain.replace("&gt;", ">") == V2
