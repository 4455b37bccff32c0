"""The args of single events, as Python values."""

from __future__ import annotations

import json
from typing import Any

import orjson


def json_object(text: bytes | str) -> dict[str, Any]:
    """The object that `text` spells; an empty one when it spells none."""
    if not text:
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = _read_leniently(text)
    return value if isinstance(value, dict) else {}


def _read_leniently(text: bytes | str) -> object:
    """What JSON does not allow but profilers write, such as NaN and unpaired surrogates."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
