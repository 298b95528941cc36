"""Build a JupyterLite site with the lessons, as notebooks that run in the browser without an installation."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from ..classroom.lessons import LINKED, lessons_of_the_package, without_outputs
from ..core.files import write_file_in
from ..errors import MissingToolError
from ..views.playground.parts import parts
from .wheel import build_wheel

KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
# Packages of the kernel: resolved for its Python version, downloaded once, and served from the site's folder.
LOCK = {"enabled": True, "specs": ["comm", "ipython", "micropip"], "prefetch_extra": ["naive-graph"]}
BUILT = {"LiteBuildConfig": {"contents": ["files"]}, "PyodideLockAddon": LOCK}
SETTLED = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {"litePluginSettings": {KERNEL: {"disablePyPIFallback": True}}},
}


def write_lab(folder: Path, given: Path | None = None) -> None:
    """Write a laboratory with all lessons into a folder; it asks no other host for anything.

    given: a folder with the playground's parts, as for `write_playground`.
    Raises MissingToolError without the extra `lite`, or a network.
    """
    files = {f"static/{name}": data for name, data in parts(given).items() if name.startswith("pyodide/")}
    lock = json.loads(files["static/pyodide/pyodide-lock.json"]) | {"packages": {}}  # of which none is here
    files["static/pyodide/pyodide-lock.json"] = json.dumps(lock).encode()
    name, data = build_wheel()
    files[f"static/pyodide-lock/{name}"] = data
    files |= {f"files/{notebook.name}": without_outputs(notebook) for notebook in lessons_of_the_package()}
    files |= {f"files/{path.as_posix()}": (lessons_of_the_package()[0].parent / path).read_bytes() for path in LINKED}
    files |= {"jupyter_lite_config.json": json.dumps(BUILT).encode(), "jupyter-lite.json": json.dumps(SETTLED).encode()}
    with tempfile.TemporaryDirectory() as work:
        for name, data in files.items():
            write_file_in(Path(work), name, data)
        command = [sys.executable, "-m", "jupyterlite_core", "build", "--output-dir", str(folder.resolve())]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True)
    if not (folder / "static" / "pyodide-lock" / "pyodide-lock.json").is_file():
        if sys.version_info < (3, 12):
            raise MissingToolError("The laboratory needs Python 3.12 or newer. Run this command by such a one.")
        how = 'Run: pip install "naive-graph[lite]". It fetches packages: is there a network?'
        raise MissingToolError(f"JupyterLite does not run here. {how}\n{done.stderr[-400:]}".rstrip())
