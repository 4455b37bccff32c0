"""Phases, report, compare, findings and steps give one answer: which phase and step an op is in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import pytest

import wavescope
from tests.builders import TraceMaker, a_trace
from tests.serving_traces import VLLM_ROCM, Server, eager_decode, labelled, tensor_parallel_decode
from wavescope.analyze.compare import CompareOptions, Part
from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.launch_bound import launch_bound
from wavescope.analyze.page import report_of
from wavescope.analyze.page.time_shares import REST
from wavescope.analyze.phases import OUTSIDE, PhaseOptions
from wavescope.analyze.quick_findings import DEFAULT_THRESHOLDS
from wavescope.analyze.steps import StepOptions, steps_of
from wavescope.collect.demo.generated_trace import DemoOptions, demo_trace
from wavescope.model.trace import Trace

TOLD_BY_ALL = replace(
    DEFAULT_THRESHOLDS,
    launch_op_count=1,
    launch_op_ns=1e12,
    launch_gapped_percent=0,
    launch_gap_ns=1e12,
    launch_idle_percent=0,
    launch_phase_percent=0,
)
"""Thresholds with which every phase is found to be bound by launches."""


class Work(NamedTuple):
    """What is in a phase."""

    ops: int
    duration_ns: int


def served() -> tuple[TraceMaker, Server]:
    """Three prompts with 20 decode steps each, to which markers can be added."""
    (server,) = eager_decode(VLLM_ROCM, layers=3).servers
    maker = a_trace()
    for row in server.rows:
        maker.with_kernel(**row)  # type: ignore[arg-type]
    return maker, server


def nested() -> Trace:
    """Two requests of a prefill and numbered decode ranges, and an op after all of them."""
    maker = a_trace()
    for request in (0, 1):
        at = 1_000 * request
        maker.with_marker(f"request {request}", at, at + 900)
        maker.with_marker("prefill", at + 10, at + 200).with_kernel("a", at + 20, at + 80)
        for step in (300, 400):
            maker.with_marker(f"decode {step}", at + step, at + step + 100)
            maker.with_kernel("b", at + step, at + step + 30)
            maker.with_kernel("ncclDevKernel_AllReduce", at + step + 40, at + step + 50)
    return maker.with_kernel("after", 5_000, 5_010).build()


def marked_steps() -> Trace:
    """A language model whose program marks phases, and each of the 60 decode steps."""
    maker, server = served()
    starts = [*server.step_starts_ns, server.now_ns]
    for number, (start, end) in enumerate(pairwise(starts)):
        if number % 21 == 0:
            maker.with_marker("prefill", start, end)
            maker.with_marker("decode", end, starts[number + 21])
        else:
            maker.with_marker(f"decode_step {number}", start, end)
    return maker.build()


def hardly_marked() -> Trace:
    """A language model of which the program marks two steps only."""
    maker, server = served()
    first, second, third = server.step_starts_ns[3:6]
    return maker.with_marker("look", first, second).with_marker("here", second, third).build()


def one_name() -> Trace:
    """A language model within one range that tells nothing apart."""
    maker, server = served()
    return maker.with_marker("run", 0, server.now_ns).build()


def partly_marked() -> Trace:
    """No language model; a range around the smaller part of the work."""
    maker = a_trace().with_marker("load", 0, 100)
    for start in range(0, 1_000, 50):
        maker.with_kernel("k", start, start + 40)
    return maker.build()


def two_processes() -> Trace:
    """Two ranks that mark the same phases at different times."""
    maker = a_trace().with_process(41, rank=0).with_process(42, rank=1)
    for process in (0, 1):
        at = 70 * process
        maker.with_marker("forward", at, at + 100, process=process)
        maker.with_marker("backward", at + 100, at + 300, process=process)
        for start in (10, 110, 210):
            maker.with_kernel("k", at + start, at + start + 50, process=process, gpu=process)
    return maker.build()


def nothing_known() -> Trace:
    return a_trace().with_kernel("k", 0, 10).with_kernel("l", 20, 50).build()


def demo() -> Trace:
    return Trace(demo_trace(DemoOptions(layers=4, requests=2, decode_steps=12)))


TRACES: dict[str, tuple[Callable[[], Trace], str]] = {
    "nested": (nested, "markers"),
    "marked steps": (marked_steps, "markers"),
    "hardly marked": (hardly_marked, "structure"),
    "one name": (one_name, "structure"),
    "partly marked": (partly_marked, "markers"),
    "two processes": (two_processes, "markers"),
    "no markers": (lambda: eager_decode(VLLM_ROCM, layers=3).trace, "structure"),
    "collectives": (lambda: tensor_parallel_decode(VLLM_ROCM, layers=3).trace, "structure"),
    "nothing known": (nothing_known, "none"),
    "demo": (demo, "markers"),
}


@pytest.fixture(params=TRACES, name="case")
def _case(request: pytest.FixtureRequest) -> tuple[Trace, str]:
    make, source = TRACES[request.param]
    return make(), source


def by_phases(trace: Trace) -> dict[str, Work]:
    """What `wavescope phases` says of each path; durations are those of its kernels."""
    result = wavescope.phases(trace)
    durations: Counter[str] = Counter()
    for row in result.table("phase_kernels").records():
        durations[str(row["path"])] += int(row["total_ns"] or 0)
    rows = {str(row["path"]): row["op_count"] for row in result.table("phases").records()}
    return {path: Work(int(ops or 0), durations[path]) for path, ops in rows.items() if ops}


def by_compare(trace: Trace) -> dict[str, Work]:
    table = wavescope.compare([trace, trace], CompareOptions(parts=(Part.PHASE,))).table("phases")
    return {
        str(row["name"]): Work(int(row["new_calls"] or 0), int(row["new_total_ns"] or 0))
        for row in table.records()
    }


def test_phases_and_compare_agree(case: tuple[Trace, str]) -> None:
    trace, source = case

    assert wavescope.phases(trace).facts["source"] == source
    assert by_phases(trace) == by_compare(trace)


def test_findings_name_the_same_phases(case: tuple[Trace, str]) -> None:
    trace, source = case
    work = by_phases(trace)

    found = launch_bound(FindingContext(trace, TOLD_BY_ALL))

    assert found
    for finding in found:
        numbers = finding.numbers
        of_rest = OUTSIDE if source == "markers" else "unclassified"
        phase = str(numbers["phase"] or of_rest)
        assert (numbers["ops"], numbers["work_ns"]) == work[phase]


def test_the_report_shows_the_same_phases(case: tuple[Trace, str]) -> None:
    trace, source = case
    shown = {
        each.phase: Work(each.op_count, each.compute_ns + each.communication_ns)
        for each in report_of(trace).phases
    }

    assert REST not in shown
    if source == "none":
        shown = {"unclassified": shown["all ops"]}
    work = by_phases(trace)
    assert set(shown) <= {name.removesuffix(" *") for path in work for name in path.split(" > ")}
    for label, expected in shown.items():
        of_label = [
            each for path, each in work.items() if path.split(" > ")[-1].removesuffix(" *") == label
        ]
        assert expected == Work(*map(sum, zip(*of_label, strict=True)))
    assert sum(each.ops for each in shown.values()) == len(trace.ops)


def test_steps_know_the_same_phases(case: tuple[Trace, str]) -> None:
    trace, _ = case
    names = {phase.phase for phase in report_of(trace).phases}

    assert set(wavescope.steps(trace).table("steps").column("phase")) <= names | {""}


@pytest.mark.parametrize(
    ("make", "told_by", "count"),
    [
        (marked_steps, "markers matching steps", 60),
        (lambda: eager_decode(VLLM_ROCM, layers=3).trace, "repeating kernels", 60),
        (hardly_marked, "repeating kernels", 60),
    ],
)
def test_steps_and_compare_agree(make: Callable[[], Trace], told_by: str, count: int) -> None:
    trace = make()
    result = wavescope.steps(trace)
    steps = [row for row in result.table("steps").records() if row["kind"] is not None]
    compared = wavescope.compare([trace, trace], CompareOptions(parts=(Part.STEP,)))
    wall, busy = (
        next(row for row in compared.table("steps").records() if row["value"] == value)
        for value in ("wall", "busy")
    )

    assert (result.facts["told_by"], wall["source"]) == (told_by, told_by)
    assert (len(steps), wall["step_count"]) == (count, count)
    assert busy["mean_ns"] == sum(int(row["busy_ns"] or 0) for row in steps) / count
    if told_by == "repeating kernels":
        assert wall["mean_ns"] == sum(int(row["span_ns"] or 0) for row in steps) / count


def test_who_asks_for_markers_gets_them_and_who_does_not_want_them_does_not() -> None:
    trace = hardly_marked()

    asked = wavescope.phases(trace, PhaseOptions(marker="^(look|here)$"))
    plain = wavescope.phases(marked_steps(), PhaseOptions(use_markers=False))

    assert asked.table("phases").column("path") == ["look", "here"]
    assert plain.table("phases").column("path") == ["prefill", "decode"]
    assert plain.facts["source"] == "structure"


def test_steps_can_be_told_by_other_markers_or_by_none() -> None:
    trace = marked_steps()

    by_prefill = wavescope.steps(trace, StepOptions(marker="^prefill$"))
    by_none = wavescope.steps(trace, StepOptions(use_markers=False))

    assert by_prefill.facts["step_count"] == 3
    assert set(by_prefill.table("steps").column("phase")) == {"prefill"}
    assert (by_none.facts["step_count"], by_none.facts["told_by"]) == (63, "repeating kernels")


def test_a_single_marked_step_does_not_hide_what_repeats_in_it() -> None:
    maker, server = served()
    of_model = wavescope.steps(maker.with_marker("ProfilerStep#6", 0, server.now_ns).build())
    alone = a_trace().with_marker("ProfilerStep#6", 0, 10).with_kernel("k", 0, 5).build()

    assert (of_model.facts["step_count"], of_model.facts["told_by"]) == (63, "repeating kernels")
    assert wavescope.steps(alone).facts["step_count"] == 1


def test_ops_of_other_queues_have_the_step_that_runs_meanwhile() -> None:
    """Between two steps a copy to the GPU belongs to the next, anything else to the one before."""
    maker, server = served()
    second, third = server.step_starts_ns[1:3]
    maker.with_copy(third - 20_000, third - 19_000, queue=9)
    maker.with_copy(third - 18_000, third - 17_000, queue=9, type="CopyDeviceToHost")
    trace = maker.build()
    trace.ops.load("start_ns", "queue")

    of_op = steps_of(trace).of_op
    step_of_start = {
        int(start): int(step)
        for start, step, queue in zip(trace.ops["start_ns"], of_op, trace.ops["queue"], strict=True)
        if queue == 0
    }

    assert of_op[-2:].tolist() == [step_of_start[third], step_of_start[second]]


def test_a_late_op_of_an_earlier_step_does_not_begin_it_anew() -> None:
    maker = a_trace()
    for step in range(4):
        maker.with_marker(f"step {step}", 100 * step, 100 * step + 100)
    for start, marker in ((0, 1), (100, 2), (110, 1), (200, 3), (300, 4)):
        maker.with_kernel("k", start, start + 5, marker=marker)

    result = wavescope.steps(maker.build())

    assert result.table("steps").column("ops") == [1, 2, 1, 1]


def test_one_served_trace_is_labelled_as_its_maker_did() -> None:
    """Guards the other tests: the phases that all agree in are the right ones."""
    server = eager_decode(VLLM_ROCM, layers=3)
    truth = Counter(labelled(*server.servers).truth)

    assert {phase: work.ops for phase, work in by_phases(server.trace).items()} == dict(truth)
