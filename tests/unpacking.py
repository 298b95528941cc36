"""What a page is given, out of its bytes."""

from __future__ import annotations

import json
import zlib
from typing import Any

from naive_graph.views.steps.packing import WORD


def unpack_blob(blob: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of a blob that `pack_blob` made, and its columns."""
    content = zlib.decompress(blob)
    end = WORD + int.from_bytes(content[:WORD], "little")
    return json.loads(content[WORD:end]), content[end:]
