"""All pages, written into a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..classroom.lessons import lessons_of_the_package, without_outputs
from ..core.files import write_into
from ..views.playground.folder import known, makers_host
from ..views.stepper.page import page
from .entry import PublicName
from .frame import framed, with_a_way_home
from .gallery import GalleryProgram, examples, lenet, shown
from .languages import pages
from .lessons import LessonPage, glossary, lesson
from .reference import findings, groups
from .slides import slides
from .wheel import wheel


def build(folder: Path, *names: str) -> Iterator[Path]:
    """Write the site into a folder; say each page that was written.

    names: what to keep to, by the beginnings of lessons, of names in the
    reference, and of programs; without them there is all. Raises FolderError for
    a folder that is a file or cannot be written.
    """
    files = _Pages(folder)
    lessons = [lesson(each, files.playground) for each in lessons_of_the_package() if each.stem.startswith(names or "")]
    kept = {title: [each for each in group if each.path.startswith(names or "")] for title, group in groups().items()}
    kept = {title: group for title, group in kept.items() if group}
    yield from files.front(lessons, [each for group in kept.values() for each in group])
    yield from files.of_lessons(lessons)
    yield from files.of_languages(lessons)
    yield from files.of_the_reference(kept)
    yield from files.of_the_gallery(
        [each for each in examples() if each.name.startswith(names or "")], "lenet".startswith(names or "")
    )


class _Pages:
    """The pages as files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lab = folder, (folder / "lite" / "index.html").is_file()
        self.playground = (folder / "playground" / "index.html").is_file()  # which another command makes
        self.wheel, self.packed = wheel()

    def page(self, path: str, template: str, title: str, **facts: Any) -> Path:
        around = {"playground": self.playground, "lab": self.lab, "wheel": self.wheel}
        return write_into(
            self.folder, path, framed(template, title, "../" * path.count("/"), **around, **facts).encode()
        )

    def each(self, room: str, template: str, pages: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Iterator[Path]:
        """Pages of one kind, by name, title and facts, each with ways to the one before it and the one after it."""
        for before, (name, title, facts), after in zip([None, *pages], pages, [*pages[1:], None]):
            yield self.page(f"{room}/{name}.html", template, title, before=before, after=after, **facts)

    def front(self, lessons: Sequence[LessonPage], entries: Sequence[PublicName]) -> Iterator[Path]:
        first = next(examples())
        yield self.page(
            "index.html", "front.html", "A graph of single numbers", lessons=lessons, at="lessons/", entries=entries,
            program=first.code, picture=first.html(),
        )  # fmt: skip
        write_into(self.folder, self.wheel, self.packed)
        walk = shown(first.code.replace("draw", "step"), lambda steps: page(steps.walk()))
        yield write_into(self.folder, "walk.html", with_a_way_home(walk).encode())

    def of_lessons(self, lessons: Sequence[LessonPage]) -> Iterator[Path]:
        yield self.page("lessons/index.html", "lessons.html", "Lessons", lessons=lessons, at="")
        words = glossary(lessons_of_the_package()[0].parent, lessons)
        yield self.page("lessons/glossary.html", "glossary.html", "Glossary", words=words)
        beside, python, package = self.folder / "playground", None, ""
        if self.playground:
            python, package = makers_host(beside), known((beside / "package.zip").read_bytes())
        told = [
            (each.name, f"{each.number}. {each.title}",
             {"lesson": each, "known": package, "python": python and python * each.needs_more})
            for each in lessons
        ]  # fmt: skip
        yield from self.each("lessons", "lesson.html", told)
        for each in lessons:
            yield write_into(self.folder, f"lessons/{each.name}.ipynb", without_outputs(each.notebook))
            title, said = f"{each.number}. {each.title}", slides(each.notebook)
            yield self.page(f"slides/{each.name}.html", "slides.html", title, lesson=each, slides=said, bare=True)

    def of_languages(self, lessons: Sequence[LessonPage]) -> Iterator[Path]:
        for language, name, title, words in pages(lessons_of_the_package()[0].parent, lessons):
            yield self.page(f"{language}/{name}", "glossary.html", title, words=words, language=language)

    def of_the_reference(self, found: Mapping[str, Sequence[PublicName]]) -> Iterator[Path]:
        entries = {each: title for title, group in found.items() for each in group}
        links = {each.name: each.page for each in reversed(entries)}  # of two the first course's
        more = findings(entries, links)
        yield self.page("reference/index.html", "reference.html", "Reference", groups=found, more=more)
        texts = {each: each.text(links) for each in entries}
        told = [
            (each.page.removesuffix(".html"), each.path,
             {"entry": each, "group": title, "text": texts[each], "links": links,
              "asked": [by for by, text in texts.items() if by is not each and f'href="{each.page}"' in text]})
            for each, title in entries.items()
        ]  # fmt: skip
        yield from self.each("reference", "entry.html", told)

    def of_the_gallery(self, programs: Sequence[GalleryProgram], is_whole: bool) -> Iterator[Path]:
        yield self.page("gallery/index.html", "gallery.html", "Gallery", programs=programs, lenet=is_whole and lenet())
        if is_whole:
            heights = shown(lenet(), lambda page: str(page.html))
            yield write_into(self.folder, "gallery/lenet.html", with_a_way_home(heights, "../").encode())
        yield from self.each(
            "gallery", "program.html", [(each.name, each.title, {"program": each}) for each in programs]
        )
