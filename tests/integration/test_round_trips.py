"""What is written in a format and read again is the same trace; merging and trimming lose nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import wavescope
from tests.builders import a_trace
from tests.formats.test_rtl import make_file as make_rtl
from tests.formats.test_rtl import marker, op
from tests.sample_files import FIRST_NS, rich_trace, write_as
from wavescope.cli.main import main
from wavescope.model.columns import CALLS, COVERAGE, MARKERS, OPS, Table
from wavescope.model.op_kinds import GRAPH_RUN_TYPE, OpKind
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace

NAMES = ("copy.db", "t.rpd", "t.json", "t.json.gz", "t.pftrace", "t.pftrace.gz", "t_results.json", "t_results.json.gz")  # fmt: skip
COPY = "CopyHostToDevice"


def rows(trace: Trace, table: Table, *columns: str) -> list[tuple[object, ...]]:
    """The rows of a table, sorted: formats order rows as they like."""
    held = trace.table(table)
    lists = [
        held.strings(name) if name in {"name", "type"} else held[name].tolist() for name in columns
    ]
    return sorted(zip(*lists, strict=True))


def pairs(trace: Trace) -> list[tuple[int, int]]:
    """The links as start of the call and start of the op, which no format may change."""
    call_start = dict(
        zip(trace.calls["id"].tolist(), trace.calls["start_ns"].tolist(), strict=True)
    )
    op_start = dict(zip(trace.ops["id"].tolist(), trace.ops["start_ns"].tolist(), strict=True))
    ends = zip(trace.links["call"].tolist(), trace.links["op"].tolist(), strict=True)
    return sorted((call_start[call], op_start[op]) for call, op in ends)


def named_ops(trace: Trace) -> list[tuple[object, ...]]:
    """GPU, times and the name; copies, which have none of their own, by their type."""
    held = trace.ops
    names = [
        kind if kind == COPY else name
        for name, kind in zip(held.strings("name"), held.strings("type"), strict=True)
    ]
    numbers = (held[name].tolist() for name in ("gpu", "start_ns", "end_ns", "size_bytes"))
    return sorted(zip(names, *numbers, strict=True))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_as(rich_trace(), tmp_path_factory.mktemp("original") / "trace.db")


@pytest.mark.parametrize("name", NAMES)
def test_every_format_that_is_read_gives_back_what_was_written(
    original: Path, tmp_path: Path, name: str
) -> None:
    target = wavescope.convert(original, tmp_path / name)

    with wavescope.open(original) as before, wavescope.open(target) as after:
        assert named_ops(after) == named_ops(before)
        assert rows(after, CALLS, "name", "start_ns", "end_ns", "pid", "thread") == rows(
            before, CALLS, "name", "start_ns", "end_ns", "pid", "thread"
        )
        assert rows(after, MARKERS, "name", "start_ns", "end_ns", "thread") == rows(
            before, MARKERS, "name", "start_ns", "end_ns", "thread"
        )
        assert pairs(after) == pairs(before)
        assert sorted(after.processes["pid"].tolist()) == [4100, 4101]
        assert int(after.ops["start_ns"].min()) == FIRST_NS + 3_000


@pytest.mark.parametrize("name", NAMES)
def test_a_second_round_changes_nothing(original: Path, tmp_path: Path, name: str) -> None:
    once = wavescope.convert(original, tmp_path / name)
    back = wavescope.convert(once, tmp_path / "back.db")

    with wavescope.open(once) as before, wavescope.open(back) as after:
        assert named_ops(after) == named_ops(before)
        assert pairs(after) == pairs(before)
        columns = ("grid_x", "workgroup_x", "gpu", "queue", "process")
        assert rows(after, OPS, "start_ns", *columns) == rows(before, OPS, "start_ns", *columns)


def test_coverage_and_metadata_survive_in_the_trace_file(original: Path, tmp_path: Path) -> None:
    copy = wavescope.convert(original, tmp_path / "copy.db")

    with wavescope.open(copy) as trace:
        assert rows(trace, COVERAGE, "seen", "timed", "skipped") == [(40, 36, 4)]
        assert trace.coverage.strings("reason") == ["graph replay"]
        assert trace.metadata["command"] == "python3 serve.py"


@pytest.mark.parametrize("name", NAMES)
def test_runs_of_graphs_stay_what_they_are(tmp_path: Path, name: str) -> None:
    maker = a_trace().with_process(7).with_kernel("gemm", 10, 20)
    maker.with_op("graph 12", 30, 90, type=GRAPH_RUN_TYPE)
    target = wavescope.convert(write_as(maker, tmp_path / "trace.db"), tmp_path / name)

    with wavescope.open(target) as trace:
        assert trace.ops.strings("name") == ["gemm", "graph 12"]
        assert trace.op_kind.tolist() == [OpKind.KERNEL, OpKind.GRAPH_RUN]


def kineto(path: Path) -> Path:
    """A Kineto file of one kernel launched by one call."""
    events = [
        {"ph": "X", "cat": "kernel", "name": "attn", "pid": 0, "tid": 7, "ts": 5.001, "dur": 2.5,
         "args": {"device": 0, "stream": 7, "correlation": 3}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 900, "tid": 901,
         "ts": 1, "dur": 1, "args": {"correlation": 3}},
        {"ph": "X", "cat": "user_annotation", "name": "step", "pid": 900, "tid": 901, "ts": 0,
         "dur": 100},
    ]  # fmt: skip
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_merging_three_formats_keeps_every_row_and_every_gpu(
    original: Path, tmp_path: Path
) -> None:
    rtl = make_rtl(tmp_path / "rank1.db", [op(10, 20), op(30, 45, gpu=1), marker(5, 50, roctx=1)])
    inputs = [original, rtl, kineto(tmp_path / "rank2.json")]

    merged = wavescope.merge(inputs, tmp_path / "all.db")

    with wavescope.open(merged) as trace:
        assert (len(trace.ops), len(trace.calls)) == (36 + 2 + 1, 36 + 1)
        assert (len(trace.markers), len(trace.links)) == (8 + 1 + 1, 36 + 1)
        assert len(np.unique(trace.ops["gpu"])) == 2 + 2 + 1
        found = {
            (name, int(end) - int(start))
            for name, start, end in zip(
                trace.ops.strings("name"), trace.ops["start_ns"], trace.ops["end_ns"], strict=True
            )
        }
        assert {("gemm", 10), ("gemm", 15), ("attn", 2500), ("gemm_0", 7001)} <= found
        attn = trace.ops.strings("name").index("attn")
        link = trace.links["op"].tolist().index(int(trace.ops["id"][attn]))
        call = trace.calls["id"].tolist().index(int(trace.links["call"][link]))
        assert trace.calls.strings("name")[call] == "cudaLaunchKernel"
        origins = trace.processes.strings("origin")
        assert set(origins) == {"test.db", "rank1.db", "rank2.json"}


@pytest.mark.parametrize("rank_from", ["order", "name"])
def test_ranks_come_from_the_order_or_the_name(tmp_path: Path, rank_from: str) -> None:
    inputs = [str(kineto(tmp_path / f"rank{rank}.json")) for rank in (0, 1, 2)]

    assert main(["merge", *inputs, "-o", str(tmp_path / "m.db"), "--rank-from", rank_from]) == 0

    with wavescope.open(tmp_path / "m.db") as trace:
        assert trace.processes["rank"].tolist() == [0, 1, 2]
        third = select(trace, Selection(ranks=(2,)))
        assert third.ops.strings("name") == ["attn"]


@pytest.mark.parametrize(
    ("flags", "selection"),
    [
        (("--start", "25%", "--end", "75%"), Selection("25%", "75%")),
        (("--start", "50us"), Selection("50us")),
        (("--end", str(FIRST_NS + 60_000)), Selection(end=str(FIRST_NS + 60_000))),
        (("--marker", "decode"), Selection(marker="decode")),
        (("--gpu", "1"), Selection(gpus=(1,))),
        (("--rank", "0"), Selection(ranks=(0,))),
        (("--kernel", "gemm_[12]"), Selection(kernel="gemm_[12]")),
        (("--gpu", "0", "--marker", "prefill"), Selection(gpus=(0,), marker="prefill")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_trimmed_trace_has_the_summary_of_the_part(
    original: Path, tmp_path: Path, flags: tuple[str, ...], selection: Selection
) -> None:
    part = tmp_path / "part.db"

    assert main(["trim", str(original), "-o", str(part), *flags, "--quiet"]) == 0

    with wavescope.open(original) as whole:
        expected = wavescope.summary(select(whole, selection))
    with wavescope.open(part) as trace:
        found = wavescope.summary(trace)
        assert 0 < len(trace.ops) < 36
        assert trace.metadata["selection"] == str(selection)
    # Of a selection busy and idle are those of the whole GPU, which a file of some kernels lacks.
    about_gpus = () if selection.kernel else ("gpus", "gaps")
    for name in ("kernels", *about_gpus, "copies", "calls", "launch_gpus"):
        assert found.table(name).rows == expected.table(name).rows, name
    if selection.kernel:
        assert found.facts["busy_and_idle_of"] == "the ops that a filter left in the file"
        assert not {"gpu-idle", "small-gaps"} & {finding.id for finding in found.findings}
        assert not {"gpu-idle", "launch-bound"} & {each.id for each in wavescope.findings(part)}


def test_trimming_twice_is_trimming_by_both(original: Path, tmp_path: Path) -> None:
    first, second, both = (tmp_path / name for name in ("1.db", "2.db", "both.db"))
    main(["trim", str(original), "-o", str(first), "--gpu", "1", "--quiet"])
    main(["trim", str(first), "-o", str(second), "--marker", "decode", "--quiet"])
    main(["trim", str(original), "-o", str(both), "--gpu", "1", "--marker", "decode", "--quiet"])

    with wavescope.open(second) as one, wavescope.open(both) as other:
        assert named_ops(one) == named_ops(other)
        assert pairs(one) == pairs(other)
