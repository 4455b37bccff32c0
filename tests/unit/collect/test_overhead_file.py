"""Stored measurements come back as they were; anything else is refused with a reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.errors import OutputExistsError, UnreadableInputError
from wavescope.formats.results import load_runs, save_runs
from wavescope.model.overhead_runs import ArmRun, MetricKind, OverheadRuns, TraceFacts

RUNS = OverheadRuns(
    "v0.1.0",
    "./bench --all",
    MetricKind(r"([\d.]+) tok/s", "tok/s", higher_is_better=True),
    (
        ArmRun("baseline", 1, 97.3, 1_000, 900),
        ArmRun("lite", 1, 96.9, 1_001, 901, TraceFacts(211, 108, 300, 299, 4096)),
    ),
    "0.1.0",
    "2026-01-01T00:00:00+00:00",
    "gfx90a",
)


def test_a_measurement_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "results.json"

    save_runs(RUNS, path, force=False)

    assert load_runs(path) == RUNS
    with pytest.raises(OutputExistsError):
        save_runs(RUNS, path, force=False)
    save_runs(RUNS, path, force=True)


def document(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "good.json"
    save_runs(RUNS, path, force=True)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("schema",), "other/1", "not an overhead measurement"),
        (("label",), 5, "'label'"),
        (("label",), "x" * 20_000, "too long"),
        (("metric",), [], "'metric'"),
        (("metric", "higher_is_better"), "yes", "higher_is_better"),
        (("runs",), [], "0 runs"),
        (("runs",), {}, "'runs'"),
        (("runs", 0), 7, "not an object"),
        (("runs", 0, "value"), "97", "not a number"),
        (("runs", 0, "value"), True, "not a number"),
        (("runs", 0, "value"), 0, "not positive"),
        (("runs", 0, "value"), -1.5, "not positive"),
        (("runs", 0, "round"), -1, "not a count"),
        (("runs", 0, "wall_ns"), 2**63, "not a count"),
        (("runs", 0, "arm"), "lite", "twice"),
        (("runs", 0, "arm"), "full", "without recording"),
        (("runs", 1, "trace"), 5, "not an object"),
        (("runs", 1, "trace", "seen"), None, "'seen'"),
    ],
)
def test_wrong_values_are_named(
    tmp_path: Path, place: tuple[str | int, ...], value: object, reason: str
) -> None:
    found: Any = document(tmp_path)
    target = found
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(found))

    with pytest.raises(UnreadableInputError, match=reason):
        load_runs(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b'{"schema": 1}'])
def test_files_that_are_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)

    with pytest.raises(UnreadableInputError):
        load_runs(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="No such file"):
        load_runs(tmp_path / "missing.json")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=8,
    )
)
def test_any_runs_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    path = tmp_path_factory.mktemp("any") / "any.json"
    found = {"schema": "wavescope.overhead/1", "metric": rows, "runs": rows, "label": rows}
    path.write_text(json.dumps(found))

    with pytest.raises(UnreadableInputError):
        load_runs(path)


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    runs = replace(RUNS, case=(("model", "R1"), ("tp", "8")))

    save_runs(runs, path, force=False)

    assert load_runs(path) == runs


@pytest.mark.parametrize("case", [[], {"tp": 8}, {str(n): "x" for n in range(30)}])
def test_a_case_that_is_none(tmp_path: Path, case: object) -> None:
    path = tmp_path / "case.json"
    save_runs(RUNS, path, force=False)
    document = json.loads(path.read_text())
    document["case"] = case
    path.write_text(json.dumps(document))

    with pytest.raises(UnreadableInputError):
        load_runs(path)
