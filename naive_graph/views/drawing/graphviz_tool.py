"""Finding a `dot` program and running it: the system's, else the one that the wheel graphviz-pure carries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

PATIENCE = 5.0  # seconds


def run_dot(text: str, form: str) -> bytes | None:
    """The picture of DOT text with places, as "svg" or "png"; None without a program, in time-out or on its failure."""
    program = dot_program()
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-Kneato", "-n2", f"-T{form}"],
            input=text.encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout or None


def dot_program() -> str | None:
    """The path of a program that lays graphs out, or None."""
    found = shutil.which("dot")
    if found is None:
        ending = ".exe" if os.name == "nt" else ""
        carried = Path(sysconfig.get_path("scripts")) / f"graphviz-pure{ending}"
        found = str(carried) if carried.exists() else shutil.which("graphviz-pure")
    return found
