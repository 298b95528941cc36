"""A laboratory of JupyterLite beside the site: the lessons as notebooks that a browser runs, without installing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from ..classroom.lessons import GLOSSARY, lessons_of_the_package, without_outputs
from ..core.files import write_into
from ..core.version import __version__
from ..errors import MissingToolError
from ..views.playground.folder import packed_package
from ..views.playground.parts import parts

KERNEL = "@jupyterlite/pyodide-kernel-extension"
OF_THE_KERNEL = ("ipykernel", "piplite", "pyodide_kernel")  # its own wheels
NEEDED = ("ipython", "comm", "micropip")  # with what these need
THERE = {"python_version": "3.14", "python_full_version": "3.14.2", "sys_platform": "emscripten", "extra": ""}
OURS = (".pyc", ".so", ".pyd", ".dylib")  # of this machine's Python: what has such also goes without
HOW = 'With Python 3.13 or newer, run: pip install "naive-graph[lite]"'  # whose micropip is of Pyodide's time
WHEEL = "Wheel-Version: 1.0\nGenerator: naive_graph\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_lab(folder: Path, given: Path | None = None) -> None:
    """Write a laboratory with all lessons into a folder; it asks no other host for anything.

    given: a folder with the playground's parts, as for `write_playground`. The
    kernel's packages are those installed here, of which each is Python alone.
    Raises MissingToolError without the extra `lite`.
    """
    found, packages = parts(given), _closure()
    with tempfile.TemporaryDirectory() as work:
        for each in (lessons := lessons_of_the_package()):
            write_into(Path(work), f"files/{each.name}", without_outputs(each))
        glossary = (lessons[0].parent / GLOSSARY).read_bytes()  # to which the lessons lead
        write_into(Path(work), f"files/{GLOSSARY.as_posix()}", glossary)
        _built(Path(work), folder.resolve())
    wheels = dict(_wheels(packages, folder / "extensions" / KERNEL / "static" / "pypi"))
    lock = json.loads(found["pyodide/pyodide-lock.json"])
    lock["packages"].update((name, _entry(name, *wheel)) for name, wheel in wheels.items())
    pieces = {name: data for name, data in found.items() if name.startswith("pyodide/")}
    pieces |= {f"pyodide/{file}": data for file, data in wheels.values()}
    for name, data in {**pieces, "pyodide/pyodide-lock.json": json.dumps(lock).encode()}.items():
        write_into(folder, name, data)
    _settle(folder / "jupyter-lite.json", list(wheels))


def _built(work: Path, folder: Path) -> None:
    """JupyterLite itself, with the notebooks of a folder."""
    command = [sys.executable, "-m", "jupyterlite_core", "build", "--contents", "files", "--output-dir", str(folder)]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True)
    if done.returncode or not (folder / "extensions" / KERNEL).is_dir():
        raise MissingToolError(f"JupyterLite does not run here. {HOW}\n{done.stderr[-400:]}".rstrip())


def _wheels(packages: list[str], own: Path) -> Iterator[tuple[str, tuple[str, bytes]]]:
    """All that is loaded when the kernel begins: by its name a file and what it holds."""
    for name in packages:
        yield name, _packed(name)
    for file in own.glob("*.whl"):
        if file.name.startswith(OF_THE_KERNEL):
            yield file.name.split("-")[0].replace("_", "-"), (file.name, file.read_bytes())
    found = io.BytesIO(packed_package())
    room = f"naive_graph-{__version__}.dist-info"
    with zipfile.ZipFile(found, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{room}/METADATA", f"Metadata-Version: 2.1\nName: naive-graph\nVersion: {__version__}\n")
        archive.writestr(f"{room}/WHEEL", WHEEL)
        archive.writestr(f"{room}/RECORD", "")
    yield "naive-graph", (f"naive_graph-{__version__}-py3-none-any.whl", found.getvalue())


def _closure() -> list[str]:
    """The packages that are needed there, by what they say of themselves."""
    from packaging.requirements import Requirement

    names = list(NEEDED)
    for name in names:  # which grows
        try:
            wished = map(Requirement, distribution(name).requires or [])
        except PackageNotFoundError:
            raise MissingToolError(f"A laboratory needs {name}. {HOW}") from None
        new = [each.name.lower().replace("_", "-") for each in wished if not each.marker or each.marker.evaluate(THERE)]
        names += [each for each in new if each not in names]
    return names


def _packed(name: str) -> tuple[str, bytes]:
    """An installed package as a wheel again."""
    installed, found = distribution(name), io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(installed.files or [], key=str):
            if ".." not in file.parts and file.suffix not in OURS and Path(file.locate()).is_file():
                archive.writestr(zipfile.ZipInfo(file.as_posix()), file.read_binary(), zipfile.ZIP_DEFLATED)
    return f"{name.replace('-', '_')}-{installed.version}-py3-none-any.whl", found.getvalue()


def _entry(name: str, file: str, data: bytes) -> dict[str, Any]:
    """A package as Pyodide's list names it."""
    tops = {each.split("/")[0].removesuffix(".py") for each in zipfile.ZipFile(io.BytesIO(data)).namelist()}
    return {
        "name": name, "version": file.split("-")[1], "file_name": file, "install_dir": "site", "depends": [],
        "sha256": sha256(data).hexdigest(), "package_type": "package", "unvendored_tests": False,
        "imports": sorted(each for each in tops if each.isidentifier()),
    }  # fmt: skip


def _settle(file: Path, names: list[str]) -> None:
    """Tell the laboratory where its Python is."""
    whole = json.loads(file.read_text("utf-8"))
    plugins = whole["jupyter-config-data"].setdefault("litePluginSettings", {})
    python = {"pyodideUrl": "./pyodide/pyodide.mjs", "disablePyPIFallback": True}
    plugins.setdefault(f"{KERNEL}:kernel", {}).update(python, loadPyodideOptions={"packages": names})
    file.write_text(json.dumps(whole), "utf-8")
