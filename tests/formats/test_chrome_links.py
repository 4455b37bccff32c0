"""Links between calls and ops survive a Chrome JSON file of any size and order."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from tests.builders import a_trace
from tests.registered import exporter_called
from wavescope.formats import ExportOptions
from wavescope.formats.chrome import events
from wavescope.formats.chrome import links as arrows
from wavescope.formats.chrome import links as links_module
from wavescope.formats.chrome.reader import open_chrome_json
from wavescope.model import time_order as time_sample
from wavescope.model.trace import Trace

EXPORTER = exporter_called("chrome-json")

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
    monkeypatch.setattr(links_module, "LINKS_BYTES", memory_bytes)

    trace = Trace(open_chrome_json(exported))

    assert linked_names(trace) == EXPECTED
    # As in the trace that was exported, which does not say who submitted its ops.
    assert set(trace.ops["thread"].tolist()) == {-1}


def test_arrows_link_when_the_batch_ends_between_them_and_their_slice(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_seven = functools.partial(events.event_batches, capacity=7)
    monkeypatch.setattr(events, "event_batches", of_seven)

    assert linked_names(Trace(open_chrome_json(exported))) == EXPECTED


def test_arrows_that_were_moved_away_from_their_slices_still_link(exported: Path) -> None:
    document = json.loads(exported.read_bytes())
    arrows = [event for event in document["traceEvents"] if event["ph"] in "sf"]
    others = [event for event in document["traceEvents"] if event["ph"] not in "sf"]
    document["traceEvents"] = [*arrows, *reversed(others)]
    exported.write_text(json.dumps(document))

    assert linked_names(Trace(open_chrome_json(exported))) == EXPECTED


def event(name: str, place: tuple[int, int], start: int, duration: int) -> dict[str, object]:
    pid, tid = place
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration}


def arrow(phase: str, identity: object, place: tuple[int, int], time: int) -> dict[str, object]:
    pid, tid = place
    return {"ph": phase, "id": identity, "name": "", "pid": pid, "tid": tid, "ts": time}


GPU = {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "GPU0"}}
HOST, QUEUE, OTHER_QUEUE = (9, 1), (0, 1), (0, 2)


def foreign(tmp_path: Path, *events: dict[str, object]) -> Trace:
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps([GPU, *events]))
    return Trace(open_chrome_json(path))


@pytest.mark.parametrize("bucket_rows", [3, 1 << 17])
def test_foreign_arrows_link_beyond_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket_rows: int
) -> None:
    for module in (links_module, arrows):
        monkeypatch.setattr(module, "LINKS_BYTES", 0)
    monkeypatch.setattr(time_sample, "BUCKET_ROWS", bucket_rows)
    events = [event("whole run", HOST, 0, 10_000)]
    for number in range(200):
        at = 20 * number
        queue = (QUEUE, OTHER_QUEUE)[number % 2]
        events += [
            arrow("f", f"0x{number:x}", queue, at + 14),
            event(f"launch{number}", HOST, at, 5),
            event(f"kernel{number}", queue, at + 10, 5),
            arrow("s", f"0x{number:x}", HOST, at + 1),
        ]
    events.reverse()

    trace = foreign(tmp_path, *events)

    assert linked_names(trace) == {(f"launch{n}", f"kernel{n}") for n in range(200)}
    assert len(trace.links) == 200
    assert set(trace.ops["thread"].tolist()) == {1}


def test_an_arrow_starts_in_the_innermost_call_that_is_open(tmp_path: Path) -> None:
    trace = foreign(
        tmp_path,
        event("outer", HOST, 0, 100),
        event("inner", HOST, 10, 10),
        *(event(name, QUEUE, start, 5) for name, start in (("a", 30), ("b", 40), ("c", 50))),
        *(arrow("s", id_, HOST, time) for id_, time in ((1, 19), (2, 20), (3, 100))),
        *(arrow("f", id_, QUEUE, time) for id_, time in ((1, 30), (2, 44), (3, 50))),
    )

    assert linked_names(trace) == {("inner", "a"), ("outer", "b")}


def test_an_id_that_is_used_again_links_to_the_last_start_before(tmp_path: Path) -> None:
    trace = foreign(
        tmp_path,
        *(event(f"launch{n}", HOST, 100 * n, 5) for n in (1, 2)),
        *(event(f"kernel{n}", QUEUE, 100 * n + 50, 5) for n in (0, 1, 2)),
        *(arrow("s", 7, HOST, 100 * n) for n in (1, 2)),
        *(arrow("f", 7, QUEUE, 100 * n + 50) for n in (0, 1, 2)),
    )

    assert linked_names(trace) == {
        ("launch1", "kernel0"),
        ("launch1", "kernel1"),
        ("launch2", "kernel2"),
    }


def test_of_two_arrows_to_an_op_the_one_written_first_counts(tmp_path: Path) -> None:
    trace = foreign(
        tmp_path,
        *(event(f"launch{n}", HOST, 10 * n, 5) for n in (0, 1)),
        event("kernel", QUEUE, 30, 5),
        *(arrow("s", 64 - n, HOST, 10 * n) for n in (0, 1)),
        *(arrow("f", 64 - n, QUEUE, 30) for n in (1, 0)),
    )

    assert linked_names(trace) == {("launch1", "kernel")}
    assert len(trace.links) == 1


def test_the_same_id_as_a_number_and_as_a_text_are_two_arrows(tmp_path: Path) -> None:
    trace = foreign(
        tmp_path,
        *(event(f"launch{n}", HOST, 10 * n, 5) for n in (0, 1)),
        *(event(f"kernel{n}", QUEUE, 30 + 10 * n, 5) for n in (0, 1)),
        *(arrow("s", identity, HOST, 10 * n) for n, identity in enumerate((3, "3"))),
        *(arrow("f", identity, QUEUE, 30 + 10 * n) for n, identity in enumerate((3, "3"))),
    )

    assert linked_names(trace) == {("launch0", "kernel0"), ("launch1", "kernel1")}


def test_the_same_id_in_two_categories_are_two_arrows(tmp_path: Path) -> None:
    def of(category: str, each: dict[str, object]) -> dict[str, object]:
        return {**each, "cat": category}

    trace = foreign(
        tmp_path,
        *(event(f"launch{n}", HOST, 10 * n, 5) for n in (0, 1)),
        *(event(f"kernel{n}", QUEUE, 30 + 10 * n, 5) for n in (0, 1)),
        of("backward", arrow("s", 3, HOST, 10)),
        of("launch", arrow("s", 3, HOST, 0)),
        of("launch", arrow("f", 3, QUEUE, 30)),
        of("backward", arrow("f", 3, QUEUE, 40)),
        of("nowhere", arrow("f", 3, QUEUE, 40)),
    )

    assert linked_names(trace) == {("launch0", "kernel0"), ("launch1", "kernel1")}


def test_correlation_ids_link_beyond_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links_module, "LINKS_BYTES", 0)
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


def with_external_id(
    category: str, name: str, pid: int, start: int, external_id: int, **args: object
) -> dict[str, object]:
    event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": 1, "ts": start, "dur": 5}
    return {**event, "args": {"External id": external_id, **args}}


def kineto(tmp_path: Path, *events: dict[str, object]) -> Trace:
    path = tmp_path / "kineto.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return Trace(open_chrome_json(path))


def test_external_ids_link_where_there_are_no_correlation_ids(tmp_path: Path) -> None:
    trace = kineto(
        tmp_path,
        with_external_id("cpu_op", "aten::mm", 1, 0, 7),
        *(with_external_id("cuda_runtime", f"launch{n}", 1, 10 * n, 7) for n in (1, 2)),
        # The GPU is behind: both begin after both launches.
        *(with_external_id("kernel", f"kernel{n}", 0, 30 + 10 * n, 7) for n in (2, 1)),
        with_external_id("cuda_runtime", "launch3", 1, 60, 8),
        with_external_id("kernel", "kernel3", 0, 70, 8),
    )

    assert linked_names(trace) == {(f"launch{n}", f"kernel{n}") for n in (1, 2, 3)}


def test_an_external_id_of_more_ops_than_launches_links_none(tmp_path: Path) -> None:
    trace = kineto(
        tmp_path,
        with_external_id("cuda_runtime", "launch", 1, 10, 7),
        *(with_external_id("kernel", f"kernel{n}", 0, 30 + 10 * n, 7) for n in (0, 1)),
    )

    assert len(trace.links) == 0
    assert dict(trace.notes)["ops (of 2) have no launch record"] == 2


def test_correlation_ids_come_before_external_ids(tmp_path: Path) -> None:
    trace = kineto(
        tmp_path,
        *(
            with_external_id("cuda_runtime", f"launch{n}", 1, 10 * n, 7, correlation=n)
            for n in (1, 2)
        ),
        *(
            with_external_id("kernel", f"kernel{n}", 0, 30 + 10 * n, 7, correlation=3 - n)
            for n in (1, 2)
        ),
    )

    assert linked_names(trace) == {("launch1", "kernel2"), ("launch2", "kernel1")}


def of_process(
    pid: int, gpu: int, starts: list[int], delay: int, first: int = 1
) -> list[dict[str, object]]:
    """Launches of a process and, later, the kernels on its GPU that carry the same numbers."""
    place = {"ph": "X", "dur": 2, "tid": 1}
    launches = [
        {**place, "cat": "cuda_runtime", "name": f"launch {pid}", "pid": pid, "ts": start,
         "args": {"correlation": first + number}} for number, start in enumerate(starts)
    ]  # fmt: skip
    kernels = [
        {**place, "cat": "kernel", "name": f"kernel {pid}", "pid": gpu, "ts": start + delay,
         "args": {"correlation": first + number, "device": gpu, "stream": 7}}
        for number, start in enumerate(starts)
    ]  # fmt: skip
    return [*launches, *kernels]


def launching_processes(trace: Trace) -> set[tuple[str, str, int]]:
    names = linked_names(trace)
    return {(*pair, len(trace.links)) for pair in names}


def test_numbers_of_several_processes_are_told_apart_by_time(tmp_path: Path) -> None:
    """The second process began when the first was nearly done: its launches follow all kernels of
    the first, and the first one's launches have only its first ten numbers."""
    trace = kineto(
        tmp_path,
        *of_process(100, 0, [10 * number for number in range(10)], delay=5),
        *of_process(200, 1, [200 + 10 * number for number in range(30)], delay=5),
    )

    assert launching_processes(trace) == {
        ("launch 100", "kernel 100", 40),
        ("launch 200", "kernel 200", 40),
    }
    assert dict(trace.notes) == {"launches have the same numbers as those of another process": 20}


def test_of_processes_that_may_both_have_launched_everything_nothing_is_claimed(
    tmp_path: Path,
) -> None:
    starts = [10 * number for number in range(20)]
    trace = kineto(
        tmp_path, *of_process(100, 0, starts, delay=5), *of_process(200, 1, starts, delay=6)
    )

    assert len(trace.links) == 0
    assert dict(trace.notes)["ops (of 40) have no launch record"] == 40


def test_processes_that_number_their_launches_apart_may_share_a_gpu(tmp_path: Path) -> None:
    starts = [10 * number for number in range(20)]
    trace = kineto(
        tmp_path,
        *of_process(100, 0, starts, delay=5),
        *of_process(200, 0, starts, delay=6, first=1_000),
    )

    assert launching_processes(trace) == {
        ("launch 100", "kernel 100", 40),
        ("launch 200", "kernel 200", 40),
    }
    assert not trace.notes


def test_gpus_and_processes_of_any_number_are_told_apart(tmp_path: Path) -> None:
    trace = kineto(
        tmp_path,
        *of_process(100, (1 << 31) - 1, [10 * number for number in range(10)], delay=5),
        *of_process(200, 1, [200 + 10 * number for number in range(30)], delay=5),
    )

    assert {pair[:2] for pair in launching_processes(trace)} == {
        ("launch 100", "kernel 100"),
        ("launch 200", "kernel 200"),
    }
    many = kineto(
        tmp_path,
        *(each for pid in range(1, 1_500) for each in of_process(pid, 0, [10 * pid], delay=5)),
    )

    assert len(many.links) == 0
