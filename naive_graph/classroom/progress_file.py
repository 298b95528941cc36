"""What a learner has done: one file in the user's data folder, whole or not there. Nothing leaves the machine."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from ..core.files import users_folder, write_whole
from ..errors import FolderError, LessonError


def place() -> Path:
    """Where the file is: in $NAIVE_GRAPH_DATA, or in the user's folder for data."""
    return users_folder("data") / "progress.json"


def read() -> dict[str, dict[str, Any]]:
    """For each exercise how often it was tried, whether it was passed, and how many hints were shown."""
    try:
        kept = json.loads(place().read_text(encoding="utf-8"))
    except (FileNotFoundError, FolderError):
        return {}
    except (OSError, ValueError):
        kept = None
    if isinstance(kept, dict) and all(isinstance(each, dict) for each in kept.values()):
        return kept
    warnings.warn(f"The file {place()} cannot be read. Progress starts anew.", RuntimeWarning, stacklevel=2)
    return {}


def note(name: str, tried: bool = False, passed: bool = False, hints: int = 0) -> None:
    """Add to what is known of an exercise. Where nothing can be written it is said, and nothing else happens."""
    kept = read()
    known = kept.setdefault(name, {})
    for fact, more in (("tries", int(tried)), ("hints", hints)):
        if more or known.get(fact):
            known[fact] = int(known.get(fact) or 0) + more
    known["passed"] = bool(known.get("passed")) or passed
    try:
        place().parent.mkdir(parents=True, exist_ok=True)
        write_whole(place(), json.dumps(kept, indent=1, sort_keys=True).encode(), LessonError)
    except (OSError, LessonError) as error:
        warnings.warn(f"Progress is not kept: {error}", RuntimeWarning, stacklevel=2)
