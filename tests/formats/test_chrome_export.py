"""Chrome JSON export, read back as JSON and by Perfetto's trace_processor."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.builders import TraceMaker, a_trace
from tests.formats.timelines import (
    crowded_trace,
    exported,
    python_only,
    small_trace,
    varied_sizes,
    varied_values,
)
from tests.formats.trace_processor import ask
from tests.registered import exporter_called
from wavescope.formats import ExportOptions

EXPORTER = exporter_called("chrome-json")


def document(maker: TraceMaker, path: Path) -> dict[str, Any]:
    """The exported document; a `null` or a duplicate key would be refused by viewers."""
    text = exported(maker, EXPORTER, path, ExportOptions(short_names=False)).read_text(
        encoding="utf-8"
    )
    assert "null" not in text

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    parsed: dict[str, Any] = json.loads(text, object_pairs_hook=unique)
    return parsed


def events(maker: TraceMaker, path: Path, phase: str) -> list[dict[str, Any]]:
    return [event for event in document(maker, path)["traceEvents"] if event["ph"] == phase]


def test_slices_have_their_place_times_and_arguments(tmp_path: Path) -> None:
    slices = events(small_trace(), tmp_path / "t.json", "X")

    by_name = {event["name"]: event for event in slices if event["name"] != "add"}
    assert by_name["gemm"] == {
        "ph": "X",
        "name": "gemm",
        "cat": "kernel",
        "pid": by_name["gemm"]["pid"],
        "tid": by_name["gemm"]["tid"],
        "ts": 0.6,
        "dur": 1.0,
        "args": {
            "grid": "131072,2,1",
            "workgroup": "256,1,1",
            "device": 0,
            "queue": 0,
            "process": 0,
            "stream": 3,
            "correlation": 7,
        },
    }
    assert by_name["CopyHostToDevice"]["cat"] == "gpu_memcpy"
    assert by_name["CopyHostToDevice"]["args"]["bytes"] == 4096
    assert by_name["hipLaunchKernel"]["args"] == {"correlation": 7, "args": '{"a": 1}'}
    assert (by_name["step"]["cat"], by_name["step"]["pid"]) == ("roctx", 4242)


def test_the_document_says_how_times_count(tmp_path: Path) -> None:
    head = document(small_trace(), tmp_path / "t.json")

    assert head["displayTimeUnit"] == "ns"
    assert head["baseTimeNanoseconds"] == 400
    assert head["otherData"] == {"command": "python3 train.py"}


def test_times_are_decimals_of_integer_nanoseconds(tmp_path: Path) -> None:
    first = 1_712_345_678_901_234_567
    maker = (
        a_trace()
        .with_kernel("a", first, first + 1)
        .with_kernel("b", first + 10**15 + 7, first + 10**15 + 1008)
    )

    text = exported(maker, EXPORTER, tmp_path / "t.json").read_text(encoding="utf-8")

    assert '"ts":0.000,"dur":0.001' in text
    assert '"ts":1000000000000.007,"dur":1.001' in text


def test_instants_and_counters(tmp_path: Path) -> None:
    (mark,) = events(small_trace(), tmp_path / "t.json", "i")
    counters = events(small_trace(), tmp_path / "u.json", "C")

    assert (mark["name"], mark["ts"], mark["s"]) == ("mark", 0.05, "t")
    busy = [(event["ts"], event["args"]["%"]) for event in counters if event["name"] == "GPU busy"]
    depth = [(e["ts"], e["args"]["ops"]) for e in counters if e["name"] == "queue 0 depth"]
    assert sorted(busy) == [(0, 0), (0, 0), (0.6, 100), (1.6, 0), (1.6, 100), (2.1, 0)]
    assert depth == [(0.1, 1), (0.15, 2), (1.3, 1), (1.6, 0)]


def test_ids_are_never_zero_and_tell_all_lanes_apart(tmp_path: Path) -> None:
    maker = a_trace().with_process(2, name="a").with_process(3, name="b").with_process(3, name="c")
    for process in range(3):
        for thread in (0, 2, 3, 1 << 40):
            maker.with_call(f"{process} {thread}", 5, 9, process=process, thread=thread)
    for gpu in range(3):
        maker.with_kernel("k", 5, 9, gpu=gpu).with_kernel("k", 6, 9, gpu=gpu)

    names = events(maker, tmp_path / "t.json", "M")

    pids = {
        event["args"]["name"]: event["pid"] for event in names if event["name"] == "process_name"
    }
    lanes = [(event["pid"], event["tid"]) for event in names if event["name"] == "thread_name"]
    assert len(set(pids.values())) == 6
    assert len({tid for _, tid in lanes}) == len(lanes) == 18
    for pid, tid in lanes:
        assert 0 < tid < 1 << 31
        assert tid not in set(pids.values()) - {pid}


def test_trace_processor_reads_all_of_it(tmp_path: Path) -> None:
    maker = crowded_trace()
    trace = maker.build()
    expected: Counter[tuple[int, int, str]] = Counter()
    for table in (trace.ops, trace.calls, trace.markers):
        rows = zip(table["start_ns"], table["end_ns"], table.strings("name"), strict=True)
        expected.update((int(start), int(end - start), name) for start, end, name in rows)
    path = exported(maker, EXPORTER, tmp_path / "t.json")
    base = json.loads(path.read_text(encoding="utf-8"))["baseTimeNanoseconds"]
    calls, ops = trace.links["call"] - 1, trace.links["op"] - 1
    # Chrome's format has arrows forward in time, between slices that have a length.
    arrows = trace.calls["start_ns"][calls] < trace.ops["start_ns"][ops]
    arrows &= (trace.calls.duration_ns[calls] > 0) & (trace.ops.duration_ns[ops] > 0)

    slices, flows = ask(path, "SELECT ts, dur, name FROM slice", "SELECT count(*) FROM flow")

    assert Counter((ts + base, dur, name) for ts, dur, name in slices.rows) == expected
    assert flows.value == arrows.sum() > 100


def test_an_op_with_several_calls_has_one_arrow(tmp_path: Path) -> None:
    maker = a_trace().with_process(1).with_kernel("k", 50, 60)
    maker.with_call("outer", 1, 20).with_call("inner", 5, 10).with_link(2, 1).with_link(1, 1)
    path = exported(maker, EXPORTER, tmp_path / "t.json")

    (flows,) = ask(path, "SELECT o.name FROM flow JOIN slice o ON slice_out = o.id")

    assert flows.column == ["inner"]


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    names = [
        "</script><script>alert(1)</script>",
        'quote " backslash \\ newline \n tab \t bell \a zero \0 delete \x7f',
        "smile \U0001f600 \u2028",
        '"},{"ph":"X","name":"injected"',
    ]
    maker = a_trace().with_process(5, name=names[1])
    for index, name in enumerate(names):
        maker.with_call(name, 10 * index, 10 * index + 5, args=name, category=name)
    path = tmp_path / "t.json"

    slices = events(maker, path, "X")

    assert [event["name"] for event in slices] == names
    assert [event["args"]["args"] for event in slices] == names
    assert [event["cat"] for event in slices] == names
    assert "<" not in path.read_text(encoding="utf-8")


def test_unpaired_surrogates_become_question_marks(tmp_path: Path) -> None:
    (event,) = events(a_trace().with_kernel("a\ud800b", 1, 2), tmp_path / "t.json", "X")

    assert event["name"] == "a?b"


def test_an_empty_trace_is_valid(tmp_path: Path) -> None:
    assert document(a_trace(), tmp_path / "t.json")["traceEvents"] == []


def test_compressed_output_holds_the_same_text(tmp_path: Path) -> None:
    plain = exported(small_trace(), EXPORTER, tmp_path / "t.json").read_bytes()
    by_suffix = exported(small_trace(), EXPORTER, tmp_path / "t.json.gz").read_bytes()
    by_option = exported(small_trace(), EXPORTER, tmp_path / "u.json", ExportOptions(gzip=True))

    assert gzip.decompress(by_suffix) == plain
    assert gzip.decompress(by_option.read_bytes()) == plain


@pytest.mark.parametrize("maker", [small_trace, crowded_trace, varied_sizes, varied_values])
def test_native_and_python_write_the_same_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: type
) -> None:
    native = exported(maker(), EXPORTER, tmp_path / "native.json").read_bytes()
    with python_only(monkeypatch):
        python = exported(maker(), EXPORTER, tmp_path / "python.json").read_bytes()

    assert native == python
