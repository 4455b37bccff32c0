"""Links between calls and ops survive a Chrome JSON file of any size and order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import a_trace
from wavescope.export.chrome.chrome_json import EXPORTER
from wavescope.export.exporter import ExportOptions
from wavescope.load.chrome import links as links_module
from wavescope.load.chrome.chrome_json import open_chrome_json
from wavescope.model.trace import Trace

LAUNCHES = 300
OPS_PER_LAUNCH = 3


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Launches of several ops each, none of which carries a correlation id."""
    maker = a_trace().with_process(1)
    for launch in range(LAUNCHES):
        maker.with_call(f"launch{launch}", 1_000 * launch, 1_000 * launch + 100)
        for number in range(OPS_PER_LAUNCH):
            start = 1_000 * launch + 200 + 100 * number
            maker.with_kernel(f"kernel{launch}.{number}", start, start + 50)
            maker.with_link(launch + 1, OPS_PER_LAUNCH * launch + number + 1)
    path = tmp_path / "exported.json"
    EXPORTER.write(maker.build().source, path, ExportOptions(), lambda *_: None)
    return path


def linked_names(trace: Trace) -> set[tuple[str, str]]:
    calls, ops = trace.calls.strings("name"), trace.ops.strings("name")
    call_rows = {int(each): row for row, each in enumerate(trace.calls["id"])}
    op_rows = {int(each): row for row, each in enumerate(trace.ops["id"])}
    return {
        (calls[call_rows[int(call)]], ops[op_rows[int(op)]])
        for call, op in zip(trace.links["call"], trace.links["op"], strict=True)
    }


EXPECTED = {
    (f"launch{launch}", f"kernel{launch}.{number}")
    for launch in range(LAUNCHES)
    for number in range(OPS_PER_LAUNCH)
}


@pytest.mark.parametrize("memory_bytes", [0, 1 << 20])
def test_our_own_arrows_link(
    exported: Path, monkeypatch: pytest.MonkeyPatch, memory_bytes: int
) -> None:
    monkeypatch.setattr(links_module, "_LINKS_BYTES", memory_bytes)

    trace = Trace(open_chrome_json(exported))

    assert linked_names(trace) == EXPECTED
    assert set(trace.ops["thread"].tolist()) == {1}


def test_arrows_link_when_the_batch_ends_between_them_and_their_slice(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wavescope.load.chrome import events_native, events_python

    for read in (events_native.native_batches, events_python.python_batches):
        monkeypatch.setattr(read, "__defaults__", (7,))

    assert linked_names(Trace(open_chrome_json(exported))) == EXPECTED


def test_arrows_that_were_moved_away_from_their_slices_still_link(exported: Path) -> None:
    document = json.loads(exported.read_bytes())
    arrows = [event for event in document["traceEvents"] if event["ph"] in "sf"]
    others = [event for event in document["traceEvents"] if event["ph"] not in "sf"]
    document["traceEvents"] = [*arrows, *reversed(others)]
    exported.write_text(json.dumps(document))

    assert linked_names(Trace(open_chrome_json(exported))) == EXPECTED


def test_correlation_ids_link_beyond_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links_module, "_LINKS_BYTES", 0)
    place = {"ph": "X", "dur": 5, "tid": 1}
    calls = [
        {**place, "cat": "cuda_runtime", "name": f"launch{i}", "pid": 1, "ts": i * 10,
         "args": {"correlation": i + 1}} for i in range(500)
    ]  # fmt: skip
    ops = [
        {**place, "cat": "kernel", "name": f"kernel{i}", "pid": 0, "ts": i * 10 + 7,
         "args": {"correlation": i + 1, "device": 0, "stream": 7}} for i in range(0, 1000, 2)
    ]  # fmt: skip
    path = tmp_path / "kineto.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": calls + ops}))

    trace = Trace(open_chrome_json(path))

    assert linked_names(trace) == {(f"launch{i}", f"kernel{i}") for i in range(0, 500, 2)}
    assert dict(trace.notes)["ops (of 500) have no launch record"] == 250
