"""Walks a JSON file of any size: containers are entered key by key, long arrays come in blocks.

Brackets are found with NumPy over whole blocks of bytes, values are parsed by orjson, so that
memory stays at a few blocks whatever the size of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

BLOCK_BYTES = 1 << 21
VALUE_LIMIT_BYTES = 64 << 20
_FIRST_LOOK_BYTES = 1 << 10

_QUOTE, _BACKSLASH, _OPEN, _CLOSE = 1, 2, 3, 4
_CLASSES = np.zeros(256, np.uint8)
_CLASSES[[ord('"'), ord("\\")]] = _QUOTE, _BACKSLASH
_CLASSES[[ord("{"), ord("[")]] = _OPEN
_CLASSES[[ord("}"), ord("]")]] = _CLOSE

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(rb"[^,\]}\s]*")


class JsonError(ValueError):
    """The text is not JSON at this place."""


class CutJsonError(JsonError):
    """The text ends before the JSON does."""


class JsonBlocks:
    """A cursor over JSON text that `read` gives; whoever is handed a value must consume it."""

    def __init__(self, read: Callable[[int], bytes], block_bytes: int = BLOCK_BYTES) -> None:
        self._read = read
        self._block_bytes = block_bytes
        self._buffer = b""
        self._at = 0
        self.replaced_blocks = 0
        """Blocks that held invalid UTF-8, which was replaced."""
        self.bad_elements = 0
        """Elements of arrays that could not be parsed and were left out."""
        if self._fill() and self._buffer.startswith(b"\xef\xbb\xbf"):
            self._at = 3

    def peek(self) -> str:
        """The next character that is not white space."""
        while True:
            space = _SPACE.match(self._buffer, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._buffer):
                return chr(self._buffer[self._at])
            self._require_more()

    def members(self) -> Iterator[str]:
        """The keys of the object here; the value of each lies at the cursor."""
        self._take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise JsonError("an object has a key that is not a string")
            self._take(":")
            yield key
            if self._take(",}") == "}":
                return

    def elements(self) -> Iterator[None]:
        """Once for each element of the array here, which lies at the cursor."""
        self._take("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield None
            if self._take(",]") == "]":
                return

    def value(self) -> Any:
        """The parsed value here; for values of moderate size."""
        first = self.peek()
        if first in "{[":
            parts: list[bytes] = []
            self._walk_container(parts)
            return self._parse(b"".join(parts))
        return self._parse(self._scalar())

    def skip(self) -> None:
        """Pass over the value here, whatever its size."""
        if self.peek() in "{[":
            self._walk_container(None)
        else:
            self._scalar()

    def blocks(self) -> Iterator[list[Any]]:
        """The objects of the array here, parsed, thousands at a time; none of another value."""
        if self.peek() != "[":
            self.skip()
            return
        self._at += 1
        while self.peek() != "]":
            end = self._end_of_whole_elements()
            if end == self._at:
                for _ in self._other_elements():
                    self.bad_elements += 1
                return
            text = self._buffer[self._at : end]
            self._at = end
            yield self._parse_elements(text)
            if self.peek() == ",":
                self._at += 1
        self._at += 1

    def _other_elements(self) -> Iterator[None]:
        while True:
            self.skip()
            yield None
            if self._take(",]") == "]":
                return

    def _end_of_whole_elements(self) -> int:
        """Where the last object ends that lies whole in the buffer; `_at` when there are none."""
        while True:
            here = self._buffer[self._at :] if self._at else self._buffer
            positions, steps, _ = _brackets(here, False, False)
            depth = np.cumsum(steps)
            closed = np.flatnonzero(depth < 0)
            inside = slice(0, int(closed[0]) if len(closed) else len(depth))
            ends = positions[inside][(depth[inside] == 0) & (steps[inside] < 0)]
            if len(ends):
                return self._at + int(ends[-1]) + 1
            if len(closed):
                return self._at
            if len(here) > VALUE_LIMIT_BYTES:
                raise JsonError("one element of an array is larger than 64 MiB")
            self._require_more()

    def _walk_container(self, kept: list[bytes] | None) -> None:
        depth = 0
        in_string = escaped = False
        size = 0
        # Most values are small: a look at all that is read would be as long for each of them.
        look_bytes = _FIRST_LOOK_BYTES
        while True:
            here = self._buffer[self._at : self._at + look_bytes]
            look_bytes *= 4
            positions, steps, (in_string, escaped) = _brackets(here, in_string, escaped)
            depths = depth + np.cumsum(steps)
            ends = np.flatnonzero(depths == 0)
            end = int(positions[ends[0]]) + 1 if len(ends) else len(here)
            size += end
            if kept is not None:
                kept.append(here[:end])
                if size > VALUE_LIMIT_BYTES:
                    raise JsonError("one value is larger than 64 MiB")
            self._at += end
            if len(ends):
                return
            depth = int(depths[-1]) if len(depths) else depth
            if self._at == len(self._buffer):
                self._require_more()

    def _scalar(self) -> bytes:
        pattern = _STRING if self.peek() == '"' else _SCALAR
        while True:
            match = pattern.match(self._buffer, self._at)
            if match and (pattern is _STRING or match.end() < len(self._buffer)):
                break
            if len(self._buffer) - self._at > VALUE_LIMIT_BYTES:
                raise JsonError("one value is larger than 64 MiB")
            if not self._fill():
                if match and pattern is _SCALAR:
                    break
                raise CutJsonError("it ends in the middle")
        if match.end() == match.start():
            raise JsonError(f"a value was expected, found {self.peek()!r}")
        self._at = match.end()
        return match.group()

    def _take(self, expected: str) -> str:
        found = self.peek()
        if found not in expected:
            raise JsonError(f"{' or '.join(expected)} was expected, found {found!r}")
        self._at += 1
        return found

    def _parse_elements(self, text: bytes) -> list[Any]:
        try:
            elements: list[Any] = self._parse(b"[" + text + b"]")
        except JsonError:
            elements = [
                element
                for element in map(self._parsed_or_none, _split_elements(text))
                if element is not None
            ]
        return elements

    def _parsed_or_none(self, text: bytes) -> Any:
        try:
            return self._parse(text)
        except JsonError:
            self.bad_elements += 1
            return None

    def _parse(self, text: bytes) -> Any:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            decoded = text.decode("utf-8", "replace")
        if "\ufffd" in decoded:
            self.replaced_blocks += 1
        try:
            return orjson.loads(decoded)
        except orjson.JSONDecodeError:
            pass
        try:
            return _without_surrogates(json.loads(decoded, strict=False))
        except (ValueError, RecursionError) as error:
            raise JsonError(str(error)) from error

    def _require_more(self) -> None:
        if not self._fill():
            raise CutJsonError("it ends in the middle")

    def _fill(self) -> bool:
        rest = self._buffer[self._at :]
        more = self._read(max(self._block_bytes, len(rest)))
        self._buffer = rest + more
        self._at = 0
        return bool(more)


def _brackets(
    text: bytes, in_string: bool, escaped: bool
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64], tuple[bool, bool]]:
    """Positions of brackets outside strings, +1 or -1 for each, and the state at the end.

    `in_string` and `escaped` are the state at the beginning: the text may start anywhere.
    """
    classes = _CLASSES[np.frombuffer(text, np.uint8)]
    if escaped and len(classes):
        classes[0] = 0
    ends_escaped = escaped and not len(classes)
    if b"\\" in text:
        ends_escaped = _drop_escaped(classes)
    positions = np.flatnonzero(classes)
    kinds = classes[positions]
    quotes = np.cumsum(kinds == _QUOTE) + in_string
    is_bracket = (kinds >= _OPEN) & (quotes % 2 == 0)
    steps = np.where(kinds[is_bracket] == _OPEN, 1, -1).astype(np.int64)
    ends_in_string = bool(quotes[-1] % 2) if len(quotes) else in_string
    return positions[is_bracket], steps, (ends_in_string, ends_escaped)


def _drop_escaped(classes: npt.NDArray[np.uint8]) -> bool:
    """Forget backslashes and what they escape; whether the last one escapes what follows."""
    slashes = np.flatnonzero(classes == _BACKSLASH)
    classes[slashes] = 0
    if not len(slashes):
        return False
    starts_run = np.concatenate(([True], np.diff(slashes) > 1))
    run_starts = np.flatnonzero(starts_run)
    lengths = np.diff(np.concatenate((run_starts, [len(slashes)])))
    escaped = slashes[run_starts + lengths - 1][lengths % 2 == 1] + 1
    classes[escaped[escaped < len(classes)]] = 0
    return bool(len(escaped) and escaped[-1] == len(classes))


def _split_elements(text: bytes) -> Iterator[bytes]:
    positions, steps, _ = _brackets(text, False, False)
    start = 0
    for end in positions[(np.cumsum(steps) == 0) & (steps < 0)].tolist():
        yield text[start : end + 1].lstrip(b", \t\r\n")
        start = end + 1


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return value
