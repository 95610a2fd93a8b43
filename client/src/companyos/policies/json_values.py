"""Values that JSON can represent."""

from __future__ import annotations

import json
from typing import Any


def sanitize_json(value: Any) -> Any:
    """Return a value without lone surrogates, NaN and infinity, which JSON cannot represent."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"), parse_constant=_null_constant)


def _null_constant(_name: str) -> None:
    return None
