"""Runs of the real rocprofv3 1.0.0: all its formats hold the same, and what the truth says ran."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from wavescope.errors import UsageError
from wavescope.formats import open_trace
from wavescope.model.trace import Trace
from wavescope.names.demangle import demangle

RUNS = (
    ("copies_gfx942", "24043"),
    ("llm_gfx90a_x2", "23852"),
    ("mangled", "23949"),
    ("renamed", "23966"),
    ("roctx_gfx90a", "23897"),
    ("systrace_gfx942", "24018"),
    ("two_processes", "23918"),
    ("two_processes", "23920"),
)
FORMATS = ("kernel_trace.csv", "results.db", "results.pftrace")
Rows = list[tuple[object, ...]]


@pytest.fixture(params=RUNS, ids="_".join)
def run(shared_data: Path, request: pytest.FixtureRequest) -> Path:
    folder, process = request.param
    return shared_data / "rocprofv3" / "sdk-1.0.0" / folder / "vm" / process


def opened(run: Path, suffix: str) -> Trace:
    path = run.with_name(f"{run.name}_{suffix}")
    return open_trace(path if path.exists() else path.with_name(f"{path.name}.gz"))


def rows(table, numbers: tuple[str, ...], texts: tuple[str, ...]) -> Rows:
    columns = [table[name].tolist() for name in numbers]
    return sorted(zip(*columns, *map(table.strings, texts), strict=True))


OP_NUMBERS = ("start_ns", "end_ns", "gpu", "queue", "stream", "correlation", "process")
CALL_NUMBERS = ("start_ns", "end_ns", "thread", "pid", "correlation", "process")


def ops(trace: Trace, *, named: bool) -> Rows:
    return rows(trace.ops, OP_NUMBERS, ("type", "name") if named else ("type",))


def calls(trace: Trace) -> Rows:
    """All calls but allocations, which Perfetto files hold as counters."""
    found = rows(trace.calls, CALL_NUMBERS, ("name", "category", "domain"))
    return [row for row in found if row[-1] != "MEMORY"]


def markers(trace: Trace) -> Rows:
    return rows(trace.markers, ("start_ns", "end_ns", "thread", "flags"), ("name",))


def links(trace: Trace) -> Rows:
    """Pairs of a call and its op, told by what they are instead of by id."""
    call_starts, op_starts = (
        dict(zip(table["id"].tolist(), table["start_ns"].tolist(), strict=True))
        for table in (trace.calls, trace.ops)
    )
    pairs = zip(trace.links["call"].tolist(), trace.links["op"].tolist(), strict=True)
    return sorted((call_starts[call], op_starts[op]) for call, op in pairs)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_holds_the_ops_calls_markers_and_links_of_the_json(
    run: Path, suffix: str
) -> None:
    expected, trace = opened(run, "results.json"), opened(run, suffix)
    # --kernel-rename puts the range's text into CSV only, in place of the kernel's name.
    named = not (suffix == "kernel_trace.csv" and run.parent.parent.name == "renamed")

    assert len(expected.ops) > 0
    assert ops(trace, named=named) == ops(expected, named=named)
    assert calls(trace) == calls(expected)
    assert markers(trace) == markers(expected)
    assert links(trace) == links(expected)


@pytest.mark.parametrize("suffix", ["results.db", "results.pftrace"])
def test_sizes_of_launches_and_copies_are_those_of_the_json(run: Path, suffix: str) -> None:
    expected, trace = opened(run, "results.json"), opened(run, suffix)
    columns = ("start_ns", "lds_bytes", "scratch_bytes", "size_bytes", "thread")

    def sizes(of: Trace) -> Rows:
        found = [of.ops[name].tolist() for name in columns]
        for size in ("grid", "workgroup"):
            axes = [of.ops[f"{size}_{axis}"] for axis in "xyz"]
            product = axes[0].copy()
            for axis in axes[1:]:
                product = product * axis.clip(min=1)
            found.append(product.tolist())
        return sorted(zip(*found, strict=True))

    assert sizes(trace) == sizes(expected)


@pytest.mark.parametrize("suffix", ("results.json", *FORMATS))
def test_the_kernels_are_those_that_ran(run: Path, suffix: str) -> None:
    truth_path = run.parent.parent / f"truth.{run.name}.csv"
    if not truth_path.exists():
        truth_path = run.parent.parent / "truth.csv"
    with truth_path.open(encoding="utf-8") as stream:
        ran = [row for row in csv.DictReader(stream) if row["kind"] == "dispatch"]
    if run.parent.parent.name == "roctx_gfx90a":
        ran = ran[:27]  # the others ran while collection was paused
    trace = opened(run, suffix)

    # --kernel-rename puts the range's text into CSV only, in place of the kernel's name.
    is_renamed = suffix == "kernel_trace.csv" and run.parent.parent.name == "renamed"
    kernels = Counter(
        (gpu, "" if is_renamed else name)
        for gpu, name, kind in zip(
            trace.ops["gpu"].tolist(),
            trace.ops.strings("name"),
            trace.ops.strings("type"),
            strict=True,
        )
        if kind == "KernelExecution"
    )
    assert kernels == Counter(
        (int(row["gpu"]), "" if is_renamed else demangle(row["name"])) for row in ran
    )


@pytest.mark.parametrize("suffix", ("results.json", *FORMATS))
def test_mangled_kernels_have_the_names_of_a_run_without_that_option(
    shared_data: Path, suffix: str
) -> None:
    runs = shared_data / "rocprofv3" / "sdk-1.0.0"
    mangled = opened(runs / "mangled" / "vm" / "23949", suffix)
    plain = opened(runs / "two_processes" / "vm" / "23918", suffix)

    def kernel_names(trace: Trace) -> Counter[str]:
        return Counter(name for name in trace.ops.strings("name") if name)

    assert kernel_names(mangled) == kernel_names(plain)
    assert not any(name.startswith("_Z") for name in kernel_names(mangled))


@pytest.mark.parametrize("suffix", ["counter_collection.csv", "results.db"])
def test_counters_of_a_dispatch_are_one_value_each_in_every_format(
    shared_data: Path, suffix: str
) -> None:
    run = shared_data / "rocprofv3" / "sdk-1.0.0" / "counters" / "vm" / "23983"
    expected, trace = opened(run, suffix), opened(run, "results.json")

    def counters(of: Trace) -> Rows:
        starts = of.ops["start_ns"][of.counters["op"] - 1].tolist()
        values = of.counters["value"].tolist()
        return sorted(zip(starts, of.counters.strings("name"), values, strict=True))

    assert len(counters(trace)) == 90
    assert counters(trace) == counters(expected)


def test_counters_of_the_json_are_there_by_instance_when_asked_for(shared_data: Path) -> None:
    run = shared_data / "rocprofv3" / "sdk-1.0.0" / "counters" / "vm" / "23983"

    trace = open_trace(run.with_name(f"{run.name}_results.json"), counter_instances=True)

    engines = {f"SQ_WAVES[{number}]": 30 for number in range(8)}
    counts = Counter(trace.counters.strings("name"))
    assert counts == {"GRBM_COUNT": 30, **engines, "TCC_HIT_sum": 30}
    for suffix in ("counter_collection.csv", "results.db"):
        with pytest.raises(UsageError, match="cannot be split into hardware instances"):
            open_trace(run.with_name(f"{run.name}_{suffix}"), counter_instances=True)
