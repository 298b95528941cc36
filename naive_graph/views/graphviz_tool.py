"""Finding a `dot` program and running it: the system's, else the one that the wheel graphviz-pure carries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from .look import FONT

PATIENCE = 5.0  # seconds


def run_dot(text: str, form: str) -> bytes | None:
    """The laid-out picture as "svg" or "png"; None without a program, in time-out or on its failure."""
    program = dot_program()
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, f"-T{form}"], input=text.encode(), capture_output=True, timeout=PATIENCE, check=True
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


def clean_svg(svg: bytes) -> str:
    """The <svg> element alone, without the remarks that name the program's version, and with fonts for all writings."""
    text = svg.decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r'(<text [^>]*font-family=)"[^"]*"', rf'\1"{FONT}"', text)
    return re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL).strip() + "\n"
