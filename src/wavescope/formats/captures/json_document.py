"""Reads one JSON file of a capture, forgiving what decoders and disks do to such files."""

from __future__ import annotations

import json
from typing import Any

import orjson

from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.file_tree import FileTree


def read_object(tree: FileTree, name: str, most_bytes: int) -> dict[str, Any]:
    """The object that a JSON file holds; raises UnreadableInputError when it holds none."""
    return parsed_object(tree.read(name, most_bytes), f"{tree.path}/{name}")


def parsed_object(data: bytes, shown: str) -> dict[str, Any]:
    """The object of a JSON text; errors call the text `shown`."""
    if not data.strip():
        raise UnreadableInputError(shown, "the file is empty")
    try:
        document = parsed(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableInputError(
            shown, f"it is not JSON: {error}", hint="was it copied completely?"
        ) from error
    if not isinstance(document, dict):
        raise UnreadableInputError(shown, "it does not hold a JSON object")
    return document


def parsed(data: bytes) -> Any:
    """The value of a JSON text; bytes that are not UTF-8 and NaN are let pass."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8", "replace")
        return json.loads(text)


def integer(value: object, otherwise: int = 0) -> int:
    """`value` as an integer of 64 bits, `otherwise` where it is none."""
    if isinstance(value, bool):
        return otherwise
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        value = int(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    return otherwise
