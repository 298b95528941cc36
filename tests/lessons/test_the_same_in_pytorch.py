"""Each program of the page for PyTorch prints what stands below it, here and in PyTorch where it is installed."""

import contextlib
import io
import re
from importlib.util import find_spec

import pytest
from lesson_files import FOLDER

from naive_graph.classroom.language import languages

PAGES = [FOLDER / place / "notes" / "the_same_in_pytorch.md" for place in ("", *languages())]
PAIRS, *TRANSLATED = [
    re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for page in PAGES
]


def printed(programs):
    """What programs print that run one after the other in one session."""
    names, shown = {}, []
    for program in programs:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(program, names)
        shown.append(said.getvalue())
    return shown


@pytest.mark.parametrize("library", ["naive_graph", "torch"])
def test_every_program_prints_what_stands_below_it(library):
    if find_spec(library) is None:
        pytest.skip("PyTorch is not installed")
    pairs = PAIRS[0 if library == "naive_graph" else 1 :: 2]
    assert printed(program for program, _ in pairs) == [text for _, text in pairs]


def test_each_step_stands_there_in_both_and_gives_the_same():
    assert len(PAIRS) >= 10
    assert [text for _, text in PAIRS[::2]] == [text for _, text in PAIRS[1::2]]


def test_a_translated_page_has_the_same_programs():
    assert [PAIRS] * len(TRANSLATED) == TRANSLATED
