"""Collect all public names, in the groups of `help(naive_graph)`, and further entries of the search index."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from ..core.did_you_mean import OWNERS, names_elsewhere
from ..core.lazy_exports import public_names
from .api_entry import PACKAGE, TABLE, PublicName
from .markdown import Links


def group_public_names() -> dict[str, list[PublicName]]:
    """Every public name, by group: first those of `help(naive_graph)`, then one for each subpackage.

    The last one has classes that no name exports: functions take or return their instances.
    """
    things = _public_names_of(PACKAGE)
    del things["NaiveGraphError"]  # listed among the errors
    guide = re.findall(r"^    (?!naive_graph)(.{16})(.*\n)", sys.modules[PACKAGE].__doc__ or "", re.MULTILINE)
    homes: dict[str, str] = {}
    for title, names in guide:
        homes |= {name: title.strip() for name in re.findall(r"\w+", names) if name in things}
    by_group: dict[str, list[PublicName]] = {title: [] for title in homes.values()}
    for name, thing in things.items():  # what the help does not list stands with what is nearest in the package
        near = name if name in homes else max(homes, key=lambda listed: len(_common_path(thing, things[listed])))
        by_group[homes[near]].append(PublicName("", name, thing))
    for room in TABLE["rooms"]:
        members = _public_names_of(f"{PACKAGE}.{room}").items()
        new = [(name, thing) for name, thing in members if thing is not things.get(name) and callable(thing)]
        by_group[f"{PACKAGE}.{room}"] = [PublicName(room, name, thing) for name, thing in new]
    group = by_group.setdefault("what functions take and give", [])
    for file, name in TABLE["given"].items():
        if module := sys.modules.get(f"{PACKAGE}.{file}"):  # only if its optional dependencies are installed
            group.append(PublicName(file, name, getattr(module, name)))
    pages = set[str]()
    for public_name in (entry for entries in by_group.values() for entry in entries):
        while public_name.page.lower() in pages:  # `Operator` and `operator` collide on some file systems
            public_name.page = public_name.page.replace(".html", "_.html")
        pages.add(public_name.page.lower())
    return by_group


def _common_path(*things: Any) -> Any:
    return os.path.commonprefix([thing.__module__ for thing in things])  # noqa: RUF071 - by characters, not by folders


def _public_names_of(package: str) -> dict[str, Any]:
    """The public names of a package, with those that `import *` leaves out, such as `abs`."""
    exported = public_names(package)
    room = sys.modules[package]
    things = {name: getattr(room, name) for name in (*exported, *dir(room)) if name[0] != "_"}
    return {name: thing for name, thing in things.items() if getattr(thing, "__module__", "").startswith(PACKAGE)}


def search_entries(entries: Iterable[PublicName], links: Links) -> Iterator[tuple[str, str, str]]:
    """Search index entries besides the public names, as (title, page, text).

    Methods, error messages, and the names that other libraries use.
    """
    entries = list(entries)
    classes = {entry.thing for entry in entries if entry.is_class}
    for entry in entries:
        for name, member in entry.members.items():
            if not any(base in classes and hasattr(base, name) for base in entry.thing.__mro__[1:]):
                yield f"{entry.name}.{name}", f"{entry.page}#{name}", member.docstring.partition("\n")[0]
        for number, message in enumerate(entry.messages):
            yield entry.name, f"{entry.page}#says-{number}", message
    anchors = {f"{entry.name}.{name}" for entry in entries for name in entry.members}
    for prefix, owner in OWNERS.items():
        for name, advice in names_elsewhere(owner).items():
            yield prefix + name, _page_of_advice(advice, links, anchors), f"(elsewhere) Here: {advice}"


def _page_of_advice(advice: str, links: Links, members: Collection[str]) -> str:
    """The page of the first name in an advice that has a page; otherwise the index."""
    for word, member in re.findall(r"(\w+)(?:\.(\w+))?", advice):
        owner = {"node": "Node", "x": "Node", "t": "TensorNode", "history": "History"}.get(word, word)
        if owner in links:
            return links[owner] + f"#{member}" * (f"{owner}.{member}" in members)
    return "index.html"
