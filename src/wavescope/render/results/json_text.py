"""Writes JSON: one line of UTF-8, whatever the names in a trace are made of."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

import orjson

from wavescope.model.result import Result, Value
from wavescope.units import fit_for_pages, is_fit_for_pages

_TABLE_HEAD = ("name", "title", "columns")


def write_json(result: Result, stream: BinaryIO) -> None:
    """Write `result` in its versioned form."""
    stream.write(json_bytes(result.to_json()) + b"\n")


def write_json_rows(
    result: Result, rows: Iterable[Sequence[Value | bytes]], stream: BinaryIO
) -> None:
    """Write `result`, whose only table is empty, with `rows` in that table as they come."""
    document = result.to_json()
    (table,) = document["tables"]
    stream.write(
        b'{%s,"tables":[{%s,"rows":['
        % (_members(document, "schema", "title", "facts"), _members(table, *_TABLE_HEAD))
    )
    count = 0
    for row in rows:
        stream.write((b"," if count else b"") + json_bytes([_plain(value) for value in row]))
        count += 1
    stream.write(b'],"total_rows":%d}],%s}\n' % (count, _members(document, "findings")))


def _members(value: dict[str, Any], *keys: str) -> bytes:
    return json_bytes({key: value[key] for key in keys})[1:-1]


def json_bytes(value: Any) -> bytes:
    """`value` as JSON; text that UTF-8 cannot hold is spelled with escapes, integers are exact."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError:  # lone surrogates, or integers beyond 64 bits
        text = json.dumps(_encodable(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode()


_ESCAPED_CONTROL = re.compile(rb"\\[ubfr]")
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_NOT_PLAIN = re.compile(rf"\\(?:{_PAIR}|u[0-9a-fA-F]{{4}}|.)|[\x7f-\U0010ffff]+", re.DOTALL)


def json_for_pages(body: bytes) -> bytes:
    """The JSON `body` with strings as a page may show them: see `fit_for_pages`.

    Strings are changed where they stand in the text, so that large answers are not taken apart.
    """
    text = body.decode()
    if is_fit_for_pages(text) and not _ESCAPED_CONTROL.search(body):
        return body
    return _NOT_PLAIN.sub(_fit, text).encode()


def _fit(found: re.Match[str]) -> str:
    """An escape of JSON, or characters beyond ASCII, as they are or spelled out."""
    spelled = found.group()
    text = json.loads(f'"{spelled}"') if spelled.startswith("\\") else spelled
    return spelled if is_fit_for_pages(text) else json.dumps(fit_for_pages(text))[1:-1]


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value


def _plain(value: Value | bytes) -> Value:
    return value.hex() if isinstance(value, bytes) else value
