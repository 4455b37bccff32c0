"""Stored overhead measurements: a JSON file that later versions are compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from wavescope.errors import UnreadableInputError
from wavescope.model.overhead_runs import BASELINE, ArmRun, MetricKind, OverheadRuns, TraceFacts
from wavescope.outputs import replaced
from wavescope.whole_files import whole_file

RUNS_SCHEMA = "wavescope.overhead/1"
LARGEST_FILE_BYTES = 64 << 20
_MOST_RUNS = 100_000
_LONGEST_TEXT = 10_000
_LONGEST_KEY = 40
_MOST_CASE_PARTS = 20


def save_runs(runs: OverheadRuns, path: Path, *, force: bool) -> None:
    """Write a measurement to `path`."""
    document = {"schema": RUNS_SCHEMA, **asdict(runs), "case": dict(runs.case)}
    with replaced(path, [], force=force) as temporary:
        temporary.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")


def load_runs(path: Path) -> OverheadRuns:
    """The measurement stored at `path`; an error that says what is wrong with the file."""
    try:
        content = whole_file(path, LARGEST_FILE_BYTES, "an overhead measurement")
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise UnreadableInputError(path, f"it is not JSON: {error}") from error
    if not isinstance(document, Mapping) or document.get("schema") != RUNS_SCHEMA:
        raise UnreadableInputError(
            path,
            "it is not an overhead measurement",
            hint="`wavescope overhead --save FILE` writes one",
        )
    try:
        return _runs(document)
    except _WrongValueError as error:
        raise UnreadableInputError(path, str(error)) from error


class _WrongValueError(Exception):
    """A field that is missing or has the wrong kind of value."""


def _runs(document: Mapping[str, Any]) -> OverheadRuns:
    metric = _field(document, "metric", dict)
    rows = _field(document, "runs", list)
    if not 0 < len(rows) <= _MOST_RUNS:
        raise _WrongValueError(f"{len(rows)} runs are not a measurement")
    runs = tuple(_run(row) for row in rows)
    places = {(run.arm, run.round) for run in runs}
    if len(places) != len(runs):
        raise _WrongValueError("an arm ran twice in one round")
    if not any(run.arm == BASELINE for run in runs):
        raise _WrongValueError("it has no run without recording")
    softgpu = document.get("softgpu")
    return OverheadRuns(
        label=_text(document, "label"),
        command=_text(document, "command"),
        metric=MetricKind(
            _text(metric, "name"), _text(metric, "unit"), _field(metric, "higher_is_better", bool)
        ),
        runs=runs,
        wavescope_version=_text(document, "wavescope_version"),
        recorded_at=_text(document, "recorded_at"),
        softgpu=None if softgpu is None else _text(document, "softgpu"),
        case=_case(document),
    )


def _case(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What tells the measurement from others; none in files of before there were cases."""
    if "case" not in document:
        return ()
    case = _field(document, "case", dict)
    if len(case) > _MOST_CASE_PARTS:
        raise _WrongValueError(f"a case has at most {_MOST_CASE_PARTS} parts, not {len(case)}")
    return tuple((key[:_LONGEST_KEY], _text(case, key)) for key in case)


def _run(row: object) -> ArmRun:
    if not isinstance(row, Mapping):
        raise _WrongValueError("a run is not an object")
    value = row.get("value")
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _WrongValueError("the value of a run is not a number")
    if not math.isfinite(value) or value <= 0:
        raise _WrongValueError("the value of a run is not positive")
    trace = row.get("trace")
    return ArmRun(
        _text(row, "arm"),
        _count(row, "round"),
        float(value),
        _count(row, "wall_ns"),
        _count(row, "cpu_ns"),
        None if trace is None else _facts(trace),
    )


def _facts(trace: object) -> TraceFacts:
    if not isinstance(trace, Mapping):
        raise _WrongValueError("the trace of a run is not an object")
    names = ("op_count", "kernel_count", "seen", "timed", "size_bytes")
    return TraceFacts(*(_count(trace, name) for name in names))


def _field(document: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    value = document.get(name)
    if not isinstance(value, kind):
        raise _WrongValueError(f"'{name}' is missing or of the wrong kind")
    return value


def _text(document: Mapping[str, Any], name: str) -> str:
    value: str = _field(document, name, str)
    if len(value) > _LONGEST_TEXT:
        raise _WrongValueError(f"'{name}' is too long")
    return value


def _count(document: Mapping[str, Any], name: str) -> int:
    value: int = _field(document, name, int)
    if isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise _WrongValueError(f"'{name}' is not a count")
    return value
