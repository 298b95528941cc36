"""Pack this package and its lessons as a wheel, for download and for JupyterLite (lab.py)."""

from __future__ import annotations

import io
import zipfile
from importlib.metadata import PackageNotFoundError, distribution

from ..classroom.lessons import lessons_of_the_package, without_outputs
from ..errors import MissingToolError
from ..views.playground.folder import zip_package

WHEEL = "Wheel-Version: 1.0\nGenerator: naive_graph\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel() -> tuple[str, bytes]:
    """Return the wheel's file name and its bytes: the package, the lessons, and the metadata for pip."""
    try:
        package = distribution("naive-graph")
    except PackageNotFoundError:
        raise MissingToolError("A wheel says what it needs: install this package first. Run: pip install .") from None
    name = f"naive_graph-{package.version}"
    about = {file: package.read_text(file) or "" for file in ("METADATA", "entry_points.txt")}
    buffer = io.BytesIO(zip_package())
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        existing = archive.namelist()  # an installed package has its lessons inside
        folder = lessons_of_the_package()[0].parent
        files = {}
        for path in (path for path in sorted(folder.rglob("*")) if path.suffix in (".ipynb", ".md", ".po")):
            data = without_outputs(path) if path.suffix == ".ipynb" else path.read_bytes()
            files[f"naive_graph/lessons/{path.relative_to(folder).as_posix()}"] = data
        for file, text in {**about, "WHEEL": WHEEL, "RECORD": ""}.items():
            files[f"{name}.dist-info/{file}"] = text.encode()
        for inside, data in files.items():
            if inside not in existing:
                archive.writestr(zipfile.ZipInfo(inside), data, zipfile.ZIP_DEFLATED)
    return f"{name}-py3-none-any.whl", buffer.getvalue()
