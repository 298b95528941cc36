"""Ways from a lesson to the glossary: each term that the lesson explains is linked once, where it first stands.

The glossary says below each term which lesson explains it. A term stands in a
lesson in its own letters, or in those of a word in *italics* in its entry, or
as a word that begins as it does, or as code. Where it is in bold, there it is explained.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GLOSSARY = "notes/glossary.md"
ENTRY = re.compile(r"^## (.+)\n\n((?:(?!## ).*\n)+?)\nIn \*(.+)\*\.\n", re.MULTILINE)
CLOSED = re.compile(  # what stays as it is: programs, headings, tables, formulas, links
    r"^```.*?^```|^#+ .*?$|^\|.*?$|^\$\$.*?\$\$|\$[^$\n]+\$|\[[^\]\n]*\]\([^)\n]*\)|^\*\*Exercise .*?$|`[^`\n]*`",
    re.DOTALL | re.MULTILINE,
)


def place(term: str) -> str:
    """Where a page shows the entry, as GitHub and the site name it."""
    return re.sub("[^a-z-]", "", term.lower().replace(" ", "-"))


def terms(glossary: str, title: str) -> dict[str, list[str]]:
    """What the glossary has from a lesson: each term, and patterns of it, the best first."""
    found = {}
    for term, meaning, lesson in ENTRY.findall(glossary):
        if lesson == title:
            words = [term, *re.findall(r"\*([^*\n]+)\*", meaning)]
            exact = [rf"\b{re.escape(each)}(?:s|es)?\b" for each in words]
            bold = [rf"(?<=\*\*){each}(?=\*\*)" for each in exact]
            begun = [rf"\b{re.escape(each.split()[0][:5])}\w*" for each in words]
            code = [rf"`[^`\n]*{re.escape(each.split()[0][:5])}[^`\n]*`" for each in words]  # the whole of it
            found[term] = [*bold, *exact, *begun, *code]
    return found


def linked(cells: list[Any], glossary: str) -> None:
    """Link every term of a lesson once, in the cells of its text, of which the first begins with its title."""
    texts = [each for each in cells if each.cell_type == "markdown"]
    title = texts[0].source.splitlines()[0].removeprefix("# ") if texts else ""
    for term, patterns in terms(glossary, title).items():
        next((True for each in patterns for cell in texts if _link(cell, each, term)), False)


def _link(cell: Any, pattern: str, term: str) -> bool:
    """Link the first place in a cell where the pattern stands in the open."""
    closed = [each.span() for each in CLOSED.finditer(cell.source)]
    for found in re.finditer(pattern, cell.source, re.IGNORECASE):
        if found.span() in closed or not any(begin < found.end() and found.start() < end for begin, end in closed):
            way = f"[{found[0]}]({GLOSSARY}#{place(term)})"
            cell.source = cell.source[: found.start()] + way + cell.source[found.end() :]
            return True
    return False


def links(text: str) -> list[str]:
    """The places in the glossary to which a text leads."""
    return re.findall(rf"\]\({re.escape(GLOSSARY)}#([a-z-]+)\)", text)


def glossary_of(folder: Path) -> str:
    """The glossary of a folder of lessons; empty if it has none."""
    file = folder / GLOSSARY
    return file.read_text(encoding="utf-8") if file.exists() else ""
