"""All pages, written into a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..classroom.lessons import lessons_of_the_package, without_outputs
from ..core.files import write_into
from ..views.playground.folder import known, makers_host
from .frame import HERE, framed
from .gallery import LENET, examples, shown
from .languages import pages
from .lessons import glossary, lesson
from .reference import PublicName, findings, groups
from .slides import slides
from .wheel import wheel
from .words import code, linked, signed

TO_INSTALL = 'pip install "{}[all]"'
INSTALL = f"""\
{TO_INSTALL}
naive-graph tour       # the whole idea, in a minute
naive-graph lessons    # your own copies of the lessons, in JupyterLab
"""


def build(folder: Path, *names: str) -> Iterator[Path]:
    """Write the site into a folder; say each page that was written.

    names: what to keep to, by the beginnings of lessons, of names in the
    reference, and of programs; without them there is all. Raises FolderError for
    a folder that is a file or cannot be written.
    """
    playground = (folder / "playground" / "index.html").is_file()  # which another command makes
    lessons = [lesson(each, playground) for each in lessons_of_the_package() if each.stem.startswith(names or "")]
    kept = {title: [each for each in group if each.path.startswith(names or "")] for title, group in groups().items()}
    programs = [each for each in examples() if each.name.startswith(names or "")]
    files = _Pages(folder, {title: group for title, group in kept.items() if group}, playground)
    yield from files.front(lessons, next(examples()))
    yield from files.of_lessons(lessons)
    yield from files.of_languages(lessons)
    yield from files.of_the_reference()
    yield from files.of_the_gallery(programs, "lenet" in (names or ["lenet"]))


class _Pages:
    """The pages as files."""

    def __init__(self, folder: Path, entries: dict[str, list[PublicName]], playground: bool) -> None:
        self.folder, self.groups, self.playground = folder, entries, playground
        self.lab = (folder / "lite" / "index.html").is_file()
        self.wheel, self.packed = wheel()

    def page(self, path: str, template: str, title: str, **facts: Any) -> Path:
        up = "../" * path.count("/")
        html = framed(template, title, up, playground=self.playground, lab=self.lab, wheel=self.wheel, **facts)
        return write_into(self.folder, path, html.encode())

    def front(self, lessons: Sequence[Any], first: Any) -> Iterator[Path]:
        names = [each for group in self.groups.values() for each in group]
        yield self.page(
            "index.html", "front.html", "A graph of single numbers", lessons=lessons, at="lessons/", count=len(names),
            operators=sum(each.is_operator for each in names), errors=sum(bool(each.messages) for each in names),
            program=code(first.code), picture=first.html(), install=code(INSTALL.format(self.wheel), "sh"),
        )  # fmt: skip
        write_into(self.folder, self.wheel, self.packed)
        walk = self.folder / "walk.html"
        shown(first.code.replace("draw", "step"), lambda steps: str(steps.save(walk)))
        yield walk

    def of_lessons(self, lessons: Sequence[Any]) -> Iterator[Path]:
        yield self.page("lessons/index.html", "lessons.html", "Lessons", lessons=lessons, at="")
        words = glossary(lessons_of_the_package()[0].parent, lessons)
        yield self.page("lessons/glossary.html", "glossary.html", "Glossary", words=words)
        around = _around([(each.name, each.title) for each in lessons])
        beside = self.folder / "playground"
        host, package = makers_host(beside), known((beside / "package.zip").read_bytes()) if self.playground else ""
        script = (HERE / "slides.js").read_text("utf-8")
        for each, (before, after) in zip(lessons, around):
            title = f"{each.number}. {each.title}"
            yield write_into(self.folder, f"lessons/{each.name}.ipynb", without_outputs(each.notebook))
            yield self.page(
                f"lessons/{each.name}.html", "lesson.html", title, lesson=each, before=before, after=after,
                install=TO_INSTALL.format(self.wheel),
                python=(host if each.needs_more else "") if self.playground else None, known=package,
            )  # fmt: skip
            yield self.page(
                f"slides/{each.name}.html", "slides.html", title, lesson=each, slides=slides(each.notebook),
                script=script, bare=True,
            )  # fmt: skip

    def of_languages(self, lessons: Sequence[Any]) -> Iterator[Path]:
        for language, name, title, words in pages(lessons_of_the_package()[0].parent, lessons):
            yield self.page(f"{language}/{name}", "glossary.html", title, words=words, language=language)

    def of_the_reference(self) -> Iterator[Path]:
        script = (HERE / "search.js").read_text("utf-8")
        entries = [(title, each) for title, group in self.groups.items() for each in group]
        links = {each.name: each.page for _, each in reversed(entries)}  # of two the first course's
        yield self.page(
            "reference/index.html", "reference.html", "Reference", groups=self.groups, linked=linked, script=script,
            more=findings([each for _, each in entries], links),
        )  # fmt: skip
        texts = {each: each.body(links) for _, each in entries}
        around = _around([(each.page.removesuffix(".html"), each.path) for _, each in entries])
        for (title, each), (before, after) in zip(entries, around):
            asked = [
                (by.path, by.page) for by, text in texts.items() if by is not each and f'href="{each.page}"' in text
            ]
            others = {name: page for name, page in links.items() if page != each.page}
            yield self.page(
                f"reference/{each.page}", "entry.html", each.path, entry=each, group=title, asked=asked[:40],
                usage=signed(each.usage, others), written=code(each.written), body=texts[each],
                before=before, after=after,
            )  # fmt: skip

    def of_the_gallery(self, programs: Sequence[Any], lenet: bool) -> Iterator[Path]:
        yield self.page("gallery/index.html", "gallery.html", "Gallery", programs=programs, lenet=lenet and code(LENET))
        if lenet:
            yield write_into(self.folder, "gallery/lenet.html", shown(LENET, lambda page: str(page.html)).encode())
        for each, (before, after) in zip(programs, _around([(each.name, each.title) for each in programs])):
            yield self.page(
                f"gallery/{each.name}.html", "program.html", each.title, program=each, code=code(each.code),
                picture=each.html(), before=before, after=after,
            )  # fmt: skip


def _around(pages: Sequence[tuple[str, str]]) -> Iterator[tuple[Any, Any]]:
    """For each page the one before it and the one after it."""
    return zip([None, *pages], [*pages[1:], None])
