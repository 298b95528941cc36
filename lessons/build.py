"""Build the lessons: each notebook is made from a text source and executed.

    python lessons/build.py                  build every lesson
    python lessons/build.py 01 03            build the lessons whose names begin so
    python lessons/build.py --languages      write them in other languages alone, which runs nothing
    python lessons/build.py --check          fail if a committed notebook is stale; tell other pictures

A source is MyST markdown in `sources/`. Two builds give the same bytes: cell
ids come from the lesson's name, no times are recorded, and every lesson runs in
a fresh kernel of this very Python, in an empty folder. What a cell with the tag
`measured` shows may differ: it tells how long something took. Needs the extra
`naive-graph[dev]`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.language import has_translation, languages, lesson_catalogue, paragraphs, translate_lesson
from naive_graph.classroom.lessons import notebook_bytes
from naive_graph.classroom.solutions import blank_text, solution_text

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))
from linking import glossary_of, linked  # noqa: E402  # beside this file

SOURCES = HERE / "sources"
SECONDS_PER_CELL = 120
OTHER_PICTURE = "another picture (as another version of graphviz or matplotlib, or another font, also makes it)"
QUIET = {
    "CI": "true",  # a progress bar would leave times in the outputs
    "PYTHONHASHSEED": "0",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # a debugger's warning, else printed at the start
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}


WIDGET = "application/vnd.jupyter.widget-view+json"


class LessonError(Exception):
    """A lesson cannot be built, or is not what its source makes."""


def digest(source: Path) -> str:
    """The fingerprint of a source, kept in the metadata of its notebook."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def without_widgets(notebook: Any) -> None:
    """A widget lives in a kernel, under a random name: the committed notebook keeps its still picture."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = [each for each in cell.outputs if WIDGET not in each.get("data", {})]


def expanded(cell: Any) -> list[Any]:
    """A cell `%exercise kahn` becomes the exercise: its number, the blank function, and the check."""
    if not cell.source.startswith("%exercise "):
        return [cell]
    exercise = exercise_named(cell.source.split()[1])
    return [
        nbformat.v4.new_markdown_cell(f"**Exercise {exercise.number}: `{exercise.name}`**"),
        nbformat.v4.new_code_cell(blank_text(exercise)),
        nbformat.v4.new_code_cell(f'check("{exercise.name}", {exercise.name})'),
    ]


@cache
def solutions() -> dict[str, str]:
    """What a learner begins with, and what they end with."""
    return {blank_text(each): solution_text(each) for each in EXERCISES}


def solved(source: str) -> str:
    """What is run in the place of a cell: its solution, if it waits for one. So a reader sees a lesson that works."""
    if source.startswith("check_tiny("):
        written = f"__import__('pathlib').Path('tiny.py').write_text(tiny_text({source[11:-1]}), 'utf-8')"
        return f"from naive_graph.classroom.exercises.tiny import tiny_text\n{written}\n{source}"
    return solutions().get(source, source)


def read(source: Path) -> Any:
    """The notebook that a source describes, not executed yet."""
    notebook = jupytext.read(source, fmt="md:myst")
    notebook.cells = [made for cell in notebook.cells for made in expanded(cell)]
    linked(notebook.cells, glossary_of(HERE))
    for place, cell in enumerate(notebook.cells):
        cell["id"] = f"{source.stem[:40]}-{place:02d}"
    notebook.metadata = nbformat.from_dict({
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "naive_graph": {"source": f"sources/{source.name}", "source_sha256": digest(source)},
    })  # fmt: skip
    return notebook


def own_kernel(folder: Path) -> Any:
    """The kernel of the Python that runs this file, whatever else is called python3 on this machine."""
    # Sockets in a folder need no ports, and nobody else can listen; Windows has none.
    address = {} if os.name == "nt" else {"transport": "ipc", "ip": str(folder / "kernel")}
    return AsyncKernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[]), **address)


def execute(notebook: Any, name: str) -> None:
    """Run every cell, solved, in a fresh kernel and an empty folder; what the cells show is kept."""
    blank = [cell.source for cell in notebook.cells]
    for cell in notebook.cells:
        cell.source = solved(cell.source)
    path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:
        settings = {**QUIET, "PYTHONPATH": path, "IPYTHONDIR": str(Path(folder, "ipython"))}
        settings["NAIVE_GRAPH_DATA"] = str(Path(folder, "data"))  # nobody's progress
        workplace = Path(folder, "work")
        workplace.mkdir()
        client = NotebookClient(
            notebook,
            km=own_kernel(Path(folder)),
            timeout=SECONDS_PER_CELL,
            record_timing=False,
            coalesce_streams=True,  # how prints are cut into messages is a matter of time
            resources={"metadata": {"path": str(workplace)}},
        )
        client.owns_km = True  # so it also ends the kernel
        try:
            asyncio.run(client.async_execute(env={**os.environ, **settings}))
            without_widgets(notebook)
        except CellExecutionError as error:
            plain = re.sub(r"\x1b\[[0-9;]*m", "", error.traceback)
            raise LessonError(f"Lesson {name} fails: {error.ename}: {error.evalue}\n{plain}") from None
    for cell, source in zip(notebook.cells, blank):
        cell.source = source
    # Keep what a reader needs of it: the version would make every Python build another notebook.
    notebook.metadata["language_info"] = {"file_extension": ".py", "name": "python", "pygments_lexer": "ipython3"}


def build(source: Path, folder: Path) -> Path:
    """Write the executed notebook of one source into `folder`."""
    notebook = read(source)
    execute(notebook, source.stem)
    return write(notebook, folder / f"{source.stem}.ipynb")


def write(notebook: Any, target: Path) -> Path:
    """Write an executed notebook."""
    nbformat.validate(notebook)
    target.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n")
    return target


def write_languages(lesson: Path) -> Iterator[Path]:
    """Write a lesson in every other language that has it. A text without a translation stays English, and is told."""
    for language in (each for each in languages() if has_translation(each, lesson)):
        find_translation = lesson_catalogue(lesson, language).find_translation
        cells = json.loads(lesson.read_bytes())["cells"]
        texts = [
            text for cell in cells if cell["cell_type"] == "markdown" for text in paragraphs("".join(cell["source"]))
        ]
        for text in (text for text in texts if find_translation(text) is None):
            print(f"note: lessons/{language}/{lesson.stem}.po lacks {text[:60]!r}", file=sys.stderr)
        target = lesson.parent / language / lesson.name
        target.parent.mkdir(exist_ok=True)
        notebook = translate_lesson(json.loads(lesson.read_bytes()), lesson, language)  # with what its cells showed
        target.write_bytes(notebook_bytes(notebook))
        yield target


def build_all(sources: Sequence[Path], folder: Path) -> Iterator[Path]:
    """Build lessons side by side, for each has a kernel of its own; they come in the order of their sources."""
    solutions()  # before there are threads: in Python 3.11 two that parse at once may fail
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(build, sources, [folder] * len(sources))


def difference(source: Path, fresh: Path, committed: Path) -> str | None:
    """Why a committed notebook is stale; None if it says what the fresh one says."""
    if not committed.exists():
        return "was never built"
    new, old = (json.loads(path.read_text(encoding="utf-8")) for path in (fresh, committed))
    if old["metadata"].get("naive_graph", {}).get("source_sha256") != digest(source):
        return "its source has changed since it was built"
    for place, (now, then) in enumerate(zip(new["cells"], old["cells"])):
        if comparable(now) != comparable(then):
            return f"cell {place} shows something else now: {''.join(now['source']).splitlines()[0]!r}"
    same = len(new["cells"]) == len(old["cells"]) and new["metadata"] == old["metadata"]
    return None if same else "its cells or its metadata differ"


def other_pictures(fresh: Path, committed: Path) -> list[str]:
    """The cells that show the same texts, but another picture."""
    new, old = (json.loads(path.read_text(encoding="utf-8")) for path in (fresh, committed))
    return [
        f"cell {place} shows {OTHER_PICTURE} now: {''.join(now['source']).splitlines()[0]!r}"
        for place, (now, then) in enumerate(zip(new["cells"], old["cells"]))
        if now != then and not measured(now)
    ]


def measured(cell: dict[str, Any]) -> bool:
    """Whether a cell shows how fast something was, which no other run need say."""
    return "measured" in cell["metadata"].get("tags", [])


def comparable(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell without its pictures, and without what was measured: both depend on the machine."""
    bare: dict[str, Any] = json.loads(json.dumps(cell))
    if measured(bare):
        bare["outputs"] = []
    for output in bare.get("outputs", []):
        data = output.get("data", {})
        data.pop("image/png", None)
        if "<img" in "".join(data.get("text/html", "")):
            del data["text/html"]
    return bare


def check(sources: Sequence[Path]) -> None:
    """Raise LessonError, naming the stale lessons, unless every committed notebook says what a fresh one says.

    A picture that differs is only told: it depends on the machine's fonts and drawing tools as well.
    """
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        for source, fresh in zip(sources, build_all(sources, Path(folder))):
            print(f"checked {source.stem}", flush=True)
            committed = HERE / f"{source.stem}.ipynb"
            reason = difference(source, fresh, committed)
            if reason:
                stale.append(f"  lessons/{source.stem}.ipynb: {reason}")
                continue
            for picture in other_pictures(fresh, committed):
                print(f"  note: {picture}", file=sys.stderr)
    stale += [f"  lessons/{name}: it has no source" for name in orphans()]
    if stale:
        raise LessonError(
            "Stale lessons. Build them with `python lessons/build.py` and look at them:\n" + "\n".join(stale)
        )


def orphans() -> list[str]:
    """Notebooks without a source."""
    return sorted(path.name for path in HERE.glob("*.ipynb") if not (SOURCES / f"{path.stem}.md").exists())


def chosen(names: Sequence[str]) -> list[Path]:
    """The sources whose names begin with one of `names`; all of them if there are none."""
    sources = sorted(SOURCES.glob("*.md"))
    wanted = [Path(name).stem for name in names]
    for name in wanted:
        if not any(source.stem.startswith(name) for source in sources):
            known = ", ".join(source.stem for source in sources)
            raise LessonError(f"There is no lesson {name!r}. There are: {known}.")
    return [source for source in sources if not wanted or source.stem.startswith(tuple(wanted))]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build and execute the lessons from their sources.")
    parser.add_argument("lessons", nargs="*", help="lessons by name or by its beginning, such as 01; all without any")
    parser.add_argument("--check", action="store_true", help="rebuild elsewhere and fail if a notebook is stale")
    parser.add_argument("--languages", action="store_true", help="write the other languages alone; run nothing")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            check(chosen(options.lessons))
        else:
            sources = chosen(options.lessons)
            made = (HERE / f"{each.stem}.ipynb" for each in sources) if options.languages else build_all(sources, HERE)
            for built in made:
                print(f"built {built.relative_to(HERE.parent)}", flush=True)
            for source in sources:  # no other thread parses now: all share one count of depth in 3.11
                for each in write_languages(HERE / f"{source.stem}.ipynb"):
                    print(f"built {each.relative_to(HERE.parent)}", flush=True)
    except LessonError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
