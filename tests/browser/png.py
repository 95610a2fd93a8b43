"""Reads PNG headers."""

from __future__ import annotations

import base64
import struct

PNG = b"\x89PNG\r\n\x1a\n"


def png_size(png: str) -> tuple[int, int]:
    """Return the width and height of a base64 PNG in pixels."""
    raw = base64.b64decode(png)
    assert raw.startswith(PNG)
    width, height = struct.unpack(">II", raw[16:24])
    return width, height
