"""Results that a command wrote with --json, read back; the file may come from anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import orjson

from wavescope.errors import UnreadableInputError
from wavescope.model.result import (
    RESULT_SCHEMA,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
)
from wavescope.whole_files import whole_file

LARGEST_FILE_BYTES = 64 << 20
_HINT = "`wavescope summary trace.db --json >FILE` writes one, as every command does"

_T = TypeVar("_T")


def load_result(path: Path) -> Result:
    """The result at `path`; an error that says what is wrong with the file."""
    document = json_document(path)
    if document.get("schema") != RESULT_SCHEMA:
        raise UnreadableInputError(path, f"it is not a {RESULT_SCHEMA}", hint=_HINT)
    try:
        return Result(
            _text(document, "title"),
            [_table(each) for each in _list(document, "tables", dict)],
            [_finding(each) for each in _list(document, "findings", dict)],
            {str(key): _value(value) for key, value in _mapping(document, "facts").items()},
        )
    except _WrongValueError as error:
        raise UnreadableInputError(
            path, f"{error} has a value of the wrong type", hint=_HINT
        ) from error


def json_document(path: Path) -> Mapping[str, Any]:
    """The JSON object at `path`."""
    try:
        document = orjson.loads(whole_file(path, LARGEST_FILE_BYTES, "a result"))
    except orjson.JSONDecodeError as error:
        raise UnreadableInputError(path, f"it is not JSON: {error}", hint=_HINT) from error
    if not isinstance(document, dict):
        raise UnreadableInputError(path, "it is not a JSON object", hint=_HINT)
    return document


class _WrongValueError(Exception):
    """A field that is missing or has the wrong kind of value."""


def _table(entry: Mapping[str, Any]) -> ResultTable:
    columns = tuple(_column(each) for each in _list(entry, "columns", dict))
    rows = [tuple(_value(value) for value in row) for row in _list(entry, "rows", list)]
    if any(len(row) != len(columns) for row in rows):
        raise _WrongValueError("a row of a table")
    total = entry.get("total_rows")
    is_count = isinstance(total, int) and not isinstance(total, bool)
    return ResultTable(
        _text(entry, "name"), _text(entry, "title"), columns, rows, total if is_count else None
    )


def _column(entry: Mapping[str, Any]) -> ResultColumn:
    return ResultColumn(
        _text(entry, "name"),
        _text(entry, "title"),
        _member(Unit, _text(entry, "unit")),
        _text(entry, "meaning"),
    )


def _finding(entry: Mapping[str, Any]) -> Finding:
    gain = entry.get("gain_percent")
    if gain is not None and (isinstance(gain, bool) or not isinstance(gain, int | float)):
        raise _WrongValueError("gain_percent")
    texts = {
        name: _text(entry, name)
        for name in ("id", "title", "evidence", "suggestion", "where", "gain_basis", "sql")
    }
    numbers = {str(key): _value(value) for key, value in _mapping(entry, "numbers").items()}
    severity = _member(Severity, _text(entry, "severity"))
    return Finding(severity=severity, gain_percent=gain, numbers=numbers, **texts)


def _member(kind: Callable[[str], _T], text: str) -> _T:
    try:
        return kind(text)
    except ValueError as error:
        raise _WrongValueError(f"'{text[:40]}'") from error


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str):
        raise _WrongValueError(name)
    return value


def _list(entry: Mapping[str, Any], name: str, kind: type[_T]) -> list[_T]:
    values = entry.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise _WrongValueError(name)
    return values


def _mapping(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = entry.get(name, {})
    if not isinstance(value, dict):
        raise _WrongValueError(name)
    return value


def _value(value: object) -> Value:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise _WrongValueError("a cell")
