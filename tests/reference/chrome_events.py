"""Chrome trace events by Python's own JSON reader, from the whole text; see native/chrome_json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from wavescope.formats.chrome.event_batch import (
    ARGUMENTS,
    BATCH_EVENTS,
    BINDS_ENCLOSING,
    COLUMN_TYPES,
    GRID_IS_TEXT,
    HAS_ARGS,
    HAS_DURATION,
    HAS_START,
    ID_NONE,
    ID_NUMBER,
    ID_TEXT,
    EventBatch,
    EventTables,
    MalformedEventsError,
)

_MAXIMUM_DEPTH = 256
_LARGEST_METADATA_BYTES = 16 << 20
_INT64_LIMIT = 1 << 63
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECIMAL = re.compile(r"(-?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_SPELLED_ID = re.compile(r"0|[1-9][0-9]{0,14}|0x(?:0|[1-9a-f][0-9a-f]{0,14})", re.ASCII)
"""The usual ids, which need no table of those seen."""
_HEXADECIMAL_IDS = 1 << 62
_CUT_VALUE = re.compile(
    r"-?|t(?:r(?:u)?)?|f(?:a(?:l(?:s)?)?)?|n(?:u(?:l)?)?|N(?:a)?|-?I(?:n(?:f(?:i(?:n(?:i(?:t)?)?)?)?)?)?"
)
_CUT_NUMBER = re.compile(r"(?:\.|[eE][+-]?)?")
_CUT_ESCAPE = re.compile(r"u[0-9a-fA-F]{0,4}")
_INTEGER_ARGUMENTS = {
    "correlation": "correlation",
    "external id": "external_id",
    "External id": "external_id",
    "device": "device",
    "gpu": "device",
    "stream": "stream",
    "queue": "queue",
    "context": "context",
    "bytes": "bytes",
    "graph id": "graph_id",
    "graph": "graph_id",
    "graph node id": "graph_node_id",
    "graph_node": "graph_node_id",
    "registers per thread": "registers",
    "shared memory": "shared_memory",
    "lds_bytes": "shared_memory",
}
_TRIPLES = {"grid": "grid", "block": "block", "workgroup": "block"}


class _Number(str):
    """A number as the file spells it."""

    __slots__ = ()


_scan: Any = json.JSONDecoder(
    parse_float=_Number, parse_int=_Number, parse_constant=_Number, strict=False
).scan_once  # type: ignore[attr-defined]


class _CutShortError(Exception):
    """The text ends inside a value."""


def parse_decimal(text: str, scale: int) -> int | None:
    """`text` times 10**scale, rounded half away from zero; None when it is no 64-bit number."""
    match = _DECIMAL.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    digits = match[2] + (match[3] or "")
    exponent = match[4] or "0"
    # Beyond this the result is zero or too large whatever the digits are.
    limit = len(digits) + 100
    shift = int(exponent) if len(exponent) < 16 else (-limit if exponent[0] == "-" else limit)
    kept = len(match[2]) + shift + scale
    significant = digits[: max(kept, 0)].lstrip("0")
    if significant and len(significant) + max(kept - len(digits), 0) > 19:
        return None
    value = int(significant or "0") * (10 ** max(kept - len(digits), 0) if significant else 1)
    if 0 <= kept < len(digits) and digits[kept] >= "5":
        value += 1
    value = -value if match[1] else value
    return value if -_INT64_LIMIT <= value < _INT64_LIMIT else None


def _compact(value: Any) -> str:
    """`value` as compact, strictly valid JSON with numbers as they were spelled."""
    if isinstance(value, _Number):
        return f'"{value}"' if value[-1] in "Ny" else str(value)
    if isinstance(value, dict):
        members = (f"{json.dumps(k, ensure_ascii=False)}:{_compact(v)}" for k, v in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_compact, value))}]"
    return json.dumps(value, ensure_ascii=False)


class _Rows:
    """Collects rows of one batch and interns their texts into `tables`."""

    def __init__(self, tables: EventTables, dropped_args: Iterable[str]) -> None:
        self.tables = tables
        self.text_codes: dict[str, int] = {}
        self.key_codes: dict[str, int] = {}
        self.id_codes: dict[str, int] = {}
        for category in dropped_args:
            self.intern(category, tables.texts, self.text_codes)
        self.dropped_codes = set(self.text_codes.values())
        self.clear()

    def clear(self) -> None:
        self.rows: list[list[int]] = []
        self.args: list[bytes] = []
        self.args_end = 0

    def clean(self, text: str) -> str:
        cleaned, replaced = _SURROGATE.subn("\ufffd", text)
        self.tables.counts.replaced_texts += replaced > 0
        return cleaned

    @staticmethod
    def intern(text: str, texts: list[str], codes: dict[str, int]) -> int:
        code = codes.get(text)
        if code is None:
            code = codes[text] = len(texts)
            texts.append(text)
        return code

    def text_code(self, value: object) -> int:
        if not isinstance(value, str):
            return -1
        return self.intern(self.clean(value), self.tables.texts, self.text_codes)

    def key_code(self, value: object) -> int:
        if not isinstance(value, str):
            return -1
        tag = "n" if isinstance(value, _Number) else "s"
        return self.intern(tag + self.clean(value), self.tables.keys, self.key_codes)

    def time(self, value: object) -> int | None:
        if not isinstance(value, str):
            return None
        time_ns = parse_decimal(value, 3)
        self.tables.counts.unusable_times += time_ns is None
        return time_ns

    def id(self, value: object) -> tuple[int, int]:
        if not isinstance(value, str):
            return ID_NONE, 0
        if isinstance(value, _Number) and value.lstrip("-").isdigit():
            number = parse_decimal(value, 0)
            if number is not None:
                return ID_NUMBER, number
        if _is_text(value) and _SPELLED_ID.fullmatch(value):
            is_hexadecimal = value.startswith("0x")
            return ID_TEXT, int(value, 16) + _HEXADECIMAL_IDS if is_hexadecimal else int(value)
        tag = "n" if isinstance(value, _Number) else "s"
        return ID_TEXT, -1 - self.id_codes.setdefault(tag + self.clean(value), len(self.id_codes))

    def keep_args(self, args: dict[str, Any], category: int) -> None:
        if category not in self.dropped_codes:
            self.args.append(self.clean(_compact(args)).encode())
            self.args_end += len(self.args[-1])

    def add(self, event: dict[str, Any]) -> None:
        """Append one event as a row, in the order of COLUMN_TYPES and ARGUMENTS."""
        category = self.text_code(event.get("cat"))
        process = self.key_code(event.get("pid"))
        thread = self.key_code(event.get("tid"))
        args = event.get("args")
        has_args = isinstance(args, dict)
        arguments = args if isinstance(args, dict) else {}
        full_name = arguments.get("full_name")
        name = self.text_code(full_name if _is_text(full_name) else event.get("name"))
        kind = self.text_code(arguments.get("kind"))
        start_ns = self.time(event.get("ts"))
        duration_ns = self.time(event.get("dur"))
        flags = (
            (HAS_START if start_ns is not None else 0)
            | (HAS_DURATION if duration_ns is not None else 0)
            | (BINDS_ENCLOSING if _letter(event.get("bp")) == ord("e") else 0)
            | (HAS_ARGS if has_args else 0)
            | (GRID_IS_TEXT if _is_text(arguments.get("grid")) else 0)
        )
        id_kind, identity = self.id(event.get("id"))
        if has_args:
            self.keep_args(arguments, category)
        row = [_letter(event.get("ph")), flags, id_kind, name, category, kind, process, thread]
        row += [identity, start_ns or 0, duration_ns or 0, self.args_end]
        self.rows.append(row + _argument_values(arguments))
        self.tables.counts.events += 1

    def batch(self) -> EventBatch:
        """The rows collected since the last call."""
        table = np.array(self.rows, np.int64).reshape(len(self.rows), -1)
        columns = {
            name: table[:, index].astype(COLUMN_TYPES.get(name, np.int64))
            for index, name in enumerate((*COLUMN_TYPES, *ARGUMENTS))
        }
        batch = EventBatch(len(self.rows), columns, b"".join(self.args))
        self.clear()
        return batch


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, _Number)


def _letter(value: object) -> int:
    is_letter = isinstance(value, str) and _is_text(value) and len(value) == 1 and value.isascii()
    return ord(str(value)) if is_letter else 0


def _integer(value: object) -> int:
    number = parse_decimal(value, 0) if isinstance(value, str) else None
    return -1 if number is None else number


def _argument_values(args: dict[str, Any]) -> list[int]:
    values = dict.fromkeys(ARGUMENTS, -1)
    for key, value in args.items():
        name = _INTEGER_ARGUMENTS.get(key)
        if name is not None:
            values[name] = _integer(value)
        elif key in _TRIPLES:
            sizes = re.split("[,x]", value) if _is_text(value) else value
            known = [_integer(size) for size in sizes[:3]] if isinstance(sizes, list) else []
            for axis, size in zip("xyz", [*known, -1, -1, -1], strict=False):
                values[f"{_TRIPLES[key]}_{axis}"] = size
    return list(values.values())


class _Walker:
    """Walks over the top level of the text; `position` is where it stands."""

    def __init__(self, text: str, tables: EventTables, rows: _Rows) -> None:
        self.text = text
        self.tables = tables
        self.rows = rows
        self.position = 0
        self.metadata_bytes = 0

    def peek(self) -> str:
        """The next character that is no space, empty at the end."""
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.text[self.position : self.position + 1]

    def error(self, reason: str, position: int) -> MalformedEventsError:
        before = self.text[:position].encode("utf-8", "surrogateescape")
        return MalformedEventsError(reason, len(before))

    def expect(self, characters: str, reason: str) -> str:
        found = self.peek()
        if not found:
            raise _CutShortError
        if found not in characters:
            raise self.error(reason, self.position)
        self.position += 1
        return found

    def value(self) -> Any:
        """The next value, which must follow."""
        if not self.peek():
            raise _CutShortError
        try:
            value, self.position = _scan(self.text, self.position)
        except StopIteration as error:
            position = int(error.value)
            if _CUT_VALUE.fullmatch(self.text, position):
                raise _CutShortError from None
            raise self.error("a value is missing", position) from None
        except json.JSONDecodeError as error:
            if self._is_cut(error):
                raise _CutShortError from None
            raise self.error(error.msg, error.pos) from None
        is_digits = isinstance(value, _Number) and value[-1].isdigit()
        if is_digits and _CUT_NUMBER.fullmatch(self.text, self.position):
            raise _CutShortError
        return value

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        if error.pos >= len(self.text) or error.msg.startswith("Unterminated string"):
            return True
        if "escape" in error.msg:
            return _CUT_ESCAPE.fullmatch(self.text, error.pos) is not None
        if error.msg.startswith("Expecting value"):
            return _CUT_VALUE.fullmatch(self.text, error.pos) is not None
        after_digit = error.pos > 0 and self.text[error.pos - 1].isdigit()
        return after_digit and _CUT_NUMBER.fullmatch(self.text, error.pos) is not None

    def walk(self, capacity: int) -> Iterator[EventBatch]:
        """All batches; the last one may be short."""
        counts = self.tables.counts
        if not self.peek():
            raise MalformedEventsError("there is nothing in it", len(self.text))
        opening = self.expect("[{", "neither a JSON object nor a list")
        counts.is_array = counts.has_events = opening == "["
        try:
            yield from self._elements(capacity) if counts.is_array else self._members(capacity)
            if self.peek():
                raise self.error("there is more text after the end", self.position)
        except _CutShortError:
            # Tools that append to an array often leave it open, so that is a whole file.
            counts.truncated = not (counts.is_array and not self.peek())
        if self.rows.rows:
            yield self.rows.batch()

    def _members(self, capacity: int) -> Iterator[EventBatch]:
        if self.peek() == "}":
            self.position += 1
            return
        more = True
        while more:
            if self.peek() not in {'"', ""}:
                raise self.error("a member name is missing in an object", self.position)
            name = self.value()
            self.expect(":", "':' is missing after a member name")
            if name == "traceEvents":
                self.expect("[", '"traceEvents" is not a list')
                self.tables.counts.has_events = True
                yield from self._elements(capacity)
            else:
                self._keep_metadata(name, self.value())
            more = self.expect(",}", "',' or '}' is missing in an object") == ","

    def _elements(self, capacity: int) -> Iterator[EventBatch]:
        while self.peek() != "]":
            start = self.position
            try:
                value = self.value()
            except _CutShortError:
                self.position = start
                raise
            if isinstance(value, dict):
                self.rows.add(value)
            else:
                self.tables.counts.not_objects += 1
            if self.expect(",]", "',' or ']' is missing in the event list") == "]":
                return
            if len(self.rows.rows) >= capacity:
                yield self.rows.batch()
        self.position += 1

    def _keep_metadata(self, name: str, value: Any) -> None:
        text = _compact(value)
        self.metadata_bytes += len(name) + len(text)
        if self.metadata_bytes > _LARGEST_METADATA_BYTES:
            self.tables.counts.dropped_metadata += 1
            return
        cleaned, replaced = _SURROGATE.subn("\ufffd", text)
        self.tables.counts.replaced_texts += replaced > 0
        self.tables.metadata[_SURROGATE.sub("\ufffd", name)] = cleaned


def _require_shallow(data: bytes) -> None:
    """Refuse what is nested too deeply before a recursive reader meets it."""
    brackets = np.frombuffer(_STRING.sub(b"", data), np.uint8)
    opened = (brackets == ord("[")) | (brackets == ord("{"))
    closed = (brackets == ord("]")) | (brackets == ord("}"))
    depth = np.cumsum(opened.astype(np.int64) - closed)
    if len(depth) and depth.max() > _MAXIMUM_DEPTH:
        raise MalformedEventsError("nested more than 256 levels deep", 0)


def event_batches(
    blocks: Iterable[bytes],
    tables: EventTables,
    dropped_args: Iterable[str],
    capacity: int = BATCH_EVENTS,
) -> Iterator[EventBatch]:
    """The events of `blocks` in batches of `capacity`; `tables` grows along.

    The args texts of events whose category is in `dropped_args` are left out.
    """
    data = b"".join(blocks)
    _require_shallow(data)
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return _Walker(text, tables, _Rows(tables, dropped_args)).walk(capacity)
