"""Build a JupyterLite site with the lessons, as notebooks that run in the browser without an installation.

`jupyter lite build` is run in a temporary folder: files/ has the notebooks, static/pyodide Python
itself, and static/pyodide-lock this package's wheel.
"""

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
# The kernel's packages: resolved for Pyodide's Python, downloaded at build time, and served from the site's folder.
PYODIDE_LOCK = {"enabled": True, "specs": ["comm", "ipython", "micropip"], "prefetch_extra": ["naive-graph"]}
BUILD_CONFIG = {"LiteBuildConfig": {"contents": ["files"]}, "PyodideLockAddon": PYODIDE_LOCK}
LITE_CONFIG = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {"litePluginSettings": {KERNEL: {"disablePyPIFallback": True}}},
}


def write_lab(folder: Path, archives: Path | None = None) -> None:
    """Write a JupyterLite site with all lessons into a folder; as a page it asks no other host for anything.

    archives: a folder with those of Pyodide, as for `write_playground`; None for cached or downloaded ones.
    Raises MissingToolError without the extra `lite`, or if its packages cannot be downloaded.
    """
    files = {f"static/{name}": data for name, data in parts(archives).items() if name.startswith("pyodide/")}
    # Pyodide's own packages are not copied, so its lock file lists none.
    lock = json.loads(files["static/pyodide/pyodide-lock.json"]) | {"packages": {}}
    files["static/pyodide/pyodide-lock.json"] = json.dumps(lock).encode()
    name, data = build_wheel()
    files[f"static/pyodide-lock/{name}"] = data
    files |= {f"files/{notebook.name}": without_outputs(notebook) for notebook in lessons_of_the_package()}
    files |= {f"files/{path.as_posix()}": (lessons_of_the_package()[0].parent / path).read_bytes() for path in LINKED}
    files["jupyter_lite_config.json"] = json.dumps(BUILD_CONFIG).encode()
    files["jupyter-lite.json"] = json.dumps(LITE_CONFIG).encode()
    with tempfile.TemporaryDirectory() as workspace:
        for name, data in files.items():
            write_file_in(Path(workspace), name, data)
        command = [sys.executable, "-m", "jupyterlite_core", "build", "--output-dir", str(folder.resolve())]
        process = subprocess.run(command, cwd=workspace, capture_output=True, text=True)
    if not (folder / "static" / "pyodide-lock" / "pyodide-lock.json").is_file():
        if sys.version_info < (3, 12):
            raise MissingToolError("The laboratory needs Python 3.12 or newer. Run this command by such a one.")
        hint = 'Run: pip install "naive-graph[lite]". It fetches packages: is there a network?'
        raise MissingToolError(f"JupyterLite does not run here. {hint}\n{process.stderr[-400:]}".rstrip())
