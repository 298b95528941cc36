"""Build the static website: render lessons, slides, reference, gallery and search, and write them into a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..classroom.language import course_folder, has_translation, languages, lesson_in_language
from ..classroom.lessons import lessons_of_the_package
from ..core.files import write_file_in
from ..views.playground.folder import fingerprint, pyodide_cdn_url
from ..views.playground.running import to_html
from ..views.stepper.page import page as walk_page
from .api_entry import PublicName
from .gallery import GalleryProgram, gallery_programs, lenet_program, run_program
from .languages import front_page, translate_cell_texts
from .lessons import LessonPage, lesson, render_note, sections
from .markdown import HERE, formula, place
from .page import add_home_link, render_page
from .reference import group_public_names, search_entries
from .slides import slides
from .wheel import build_wheel

Pages = Sequence[tuple[str, str, Mapping[str, Any]]]  # each as its name, its title, and the facts of its template

# By the name of its page: a note beside the lessons, to which they link.
NOTES = ("glossary", "glossary.md", "Glossary"), ("pytorch", "the_same_in_pytorch.md", "The same in PyTorch")


def build(folder: Path, *names: str, url: str = "") -> Iterator[Path]:
    """Write the site into a folder; yield the path of each file as it is written.

    names: beginnings: only lessons, names in the reference and programs with one of them are built;
    without any, all. url: the site's address, so that links to its pages show a card.
    Raises FolderError for a folder that is a file or cannot be written.
    """
    files = SiteWriter(folder, url.rstrip("/") + "/" if url else "")
    write_file_in(folder, files.wheel, files.wheel_bytes)  # first, so that a folder that cannot be written fails early
    notebooks = [notebook for notebook in lessons_of_the_package() if notebook.stem.startswith(names or "")]
    lessons = [lesson(notebook, files.playground) for notebook in notebooks]
    selected = {}
    for title, group in group_public_names().items():
        if members := [member for member in group if member.path.startswith(names or "")]:
            selected[title] = members
    entries = [member for group in selected.values() for member in group]
    yield from files.write_front(lessons, entries)
    yield from files.write_lessons(lessons)
    yield from files.write_translations(notebooks)
    yield from files.write_reference(selected)
    programs = [example for example in gallery_programs() if example.name.startswith(names or "")]
    yield from files.write_gallery(programs, "lenet".startswith(names or ""))
    yield files.search(lessons, entries, programs)


class SiteWriter:
    """Renders pages and writes them as files; knows which optional parts (lab, playground) the folder has.

    python: the host that packages for a lesson's cells may be loaded from; None without a playground.
    """

    def __init__(self, folder: Path, url: str = "") -> None:
        self.url = url
        self.folder, self.lab = folder, (folder / "lite" / "index.html").is_file()
        self.playground = (folder / "playground" / "index.html").is_file()  # made by another command
        self.wheel, self.wheel_bytes = build_wheel()
        self.python, self.package_hash = None, ""
        if self.playground:
            self.python = pyodide_cdn_url(folder / "playground")
            self.package_hash = fingerprint((folder / "playground" / "package.zip").read_bytes())

    def page(self, path: str, template: str, title: str, *, card: bytes = b"", **facts: Any) -> Path:
        """Render a page and write it at a path in the folder. card: the picture (PNG) that links to it show."""
        card_path = "card.png"
        if card and self.url:
            card_path = f"cards/{Path(path).with_suffix('.png').name}"
            write_file_in(self.folder, card_path, card)
        facts |= {"playground": self.playground, "lab": self.lab, "wheel": self.wheel, "known": self.package_hash}
        facts |= {"url": self.url, "path": path, "card": card_path}
        html = render_page(template, title, "../" * path.count("/"), **facts)
        return write_file_in(self.folder, path, html.encode())

    def linked_pages(self, subfolder: str, template: str, pages: Pages) -> Iterator[Path]:
        """Write pages of one kind, each linked to the previous and the next."""
        for before, (name, title, facts), after in zip([None, *pages], pages, [*pages[1:], None]):
            yield self.page(f"{subfolder}/{name}.html", template, title, before=before, after=after, **facts)

    def write_front(self, lessons: Sequence[LessonPage], entries: Sequence[PublicName]) -> Iterator[Path]:
        first = next(gallery_programs())
        picture = run_program(first.code.replace("draw(f)", 'draw(f, direction="TB")'), to_html)
        tex = run_program(first.code.replace("draw(f)", 'f.formula("tex")'), str)
        runs: dict[str, Any] = {"python": "", "runner": "ask.js"} if self.playground else {}
        yield self.page(
            "index.html", "front.html", "A graph of single numbers", lessons=lessons, at="lessons/", entries=entries,
            program=first.code, picture=picture, formula=formula(f"f = {tex}"), **runs,
        )  # fmt: skip
        if self.playground:
            for name in ("ask.js", "sw.js"):
                write_file_in(self.folder, name, (HERE / name).read_bytes())
        if self.url:
            write_file_in(self.folder, "card.png", run_program(first.code, lambda picture: picture.png))
        walk = run_program(first.code.replace("draw", "step"), lambda steps: walk_page(steps.walk()))
        yield write_file_in(self.folder, "walk.html", add_home_link(walk).encode())

    def write_lessons(self, lessons: Sequence[LessonPage]) -> Iterator[Path]:
        yield self.page("lessons/index.html", "lessons.html", "Lessons", lessons=lessons, at="")
        yield from self.write_course("lessons", "en", lessons)
        for entry in lessons:
            facts: dict[str, Any] = {"lesson": entry, "slides": slides(entry.notebook), "bare": True}
            yield self.page(f"slides/{entry.name}.html", "slides.html", f"{entry.number}. {entry.title}", **facts)

    def write_translations(self, notebooks: Sequence[Path]) -> Iterator[Path]:
        for language in languages():
            translated = [notebook for notebook in notebooks if has_translation(language, notebook)]
            lessons = [lesson(notebook, self.playground, language) for notebook in translated]
            words = front_page(language, (entry.name for entry in lessons))
            yield self.page(f"{language}/index.html", "glossary.html", "naive_graph", language=language, words=words)
            yield from self.write_course(language, language, lessons)

    def write_course(self, subfolder: str, language: str, lessons: Sequence[LessonPage]) -> Iterator[Path]:
        """Write the lessons in a language, their notebooks, and the notes to which they link."""
        for name, note, title in NOTES:
            words = render_note(course_folder(language) / "notes" / note, lessons)
            yield self.page(f"{subfolder}/{name}.html", "glossary.html", title, language=language, words=words)
        said = translate_cell_texts(language)
        page_entries = []
        for entry in lessons:
            notebook = lesson_in_language(entry.notebook, language)
            yield write_file_in(self.folder, f"{subfolder}/{entry.name}.ipynb", notebook)
            says = f"Lesson {entry.number} of a course on automatic differentiation, {entry.minutes} minutes."
            facts: dict[str, Any] = {
                "lesson": entry,
                "said": said,
                "card": entry.card,
                "says": says,
                "language": language,
            }
            facts["python"] = self.python and self.python * entry.needs_more
            page_entries.append((entry.name, f"{entry.number}. {entry.title}", facts))
        yield from self.linked_pages(subfolder, "lesson.html", page_entries)

    def write_reference(self, groups: Mapping[str, Sequence[PublicName]]) -> Iterator[Path]:
        entries = {member: title for title, group in groups.items() for member in group}
        links = {entry.name: entry.page for entry in reversed(entries)}  # the first of equal names wins
        yield self.page("reference/index.html", "reference.html", "Reference", groups=groups)
        texts = {entry: entry.text(links) for entry in entries}
        page_entries = []
        for entry, title in entries.items():
            users = [other for other, text in texts.items() if other is not entry and f'href="{entry.page}"' in text]
            values = {"entry": entry, "group": title, "text": texts[entry], "links": links, "asked": users}
            page_entries.append((entry.page.removesuffix(".html"), entry.path, values))
        yield from self.linked_pages("reference", "entry.html", page_entries)

    def write_gallery(self, programs: Sequence[GalleryProgram], is_whole: bool) -> Iterator[Path]:
        cover = ""
        if is_whole:
            altitudes, network = run_program(lenet_program(), lambda page: (str(page.html), page))
            png = network._repr_mimebundle_().get("image/png")  # of the network at every altitude
            cover = f'<img alt="" src="data:image/png;base64,{png}">' if png else ""
            yield write_file_in(self.folder, "gallery/lenet.html", add_home_link(altitudes, "../").encode())
        lenet = is_whole and lenet_program()
        yield self.page("gallery/index.html", "gallery.html", "Gallery", programs=programs, face=cover, lenet=lenet)
        pages_of = [(program.name, program.title, {"program": program}) for program in programs]
        yield from self.linked_pages("gallery", "program.html", pages_of)

    def search(
        self, lessons: Sequence[LessonPage], entries: Sequence[PublicName], programs: Sequence[GalleryProgram]
    ) -> Path:
        """Write the search page and its index: public names, lessons by section, glossary, programs, methods, messages.

        A row: (title, address, kind, words that find it, remark that finds it and is shown).
        """
        rows = []
        for entry in entries:
            rows.append((entry.path, f"reference/{entry.page}", "reference", " ".join(entry.foreign_names), entry.says))
        for lesson_page in lessons:
            for title, address, text in sections(lesson_page):
                distinct_words = " ".join(dict.fromkeys(re.findall(r"\w+", text.lower())))
                rows.append((title, address, f"lesson {lesson_page.number}", distinct_words, lesson_page.title))
        words = (course_folder("en") / "notes" / "glossary.md").read_text("utf-8")
        for term, meaning in re.findall(r"^## (.+)\n\n(.+(?:\n.+)*)", words, re.MULTILINE):
            rows.append((term, f"lessons/glossary.html#{place(term)}", "glossary", "", " ".join(meaning.split())))
        rows += [(program.title, f"gallery/{program.name}.html", "gallery", "", program.says) for program in programs]
        links = {entry.name: entry.page for entry in reversed(entries)}
        members_and_messages = search_entries(entries, links)
        rows += [(name, f"reference/{page}", "reference", "", says) for name, page, says in members_and_messages]
        index = json.dumps(rows, ensure_ascii=False).replace("</", "<\\/")
        return self.page("search.html", "search.html", "Search", index=index)
