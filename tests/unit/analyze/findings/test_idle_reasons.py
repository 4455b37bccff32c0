"""What an idle GPU is said to have waited for: named, bounded, or said to be unknown."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from tests.unit.analyze.findings import traces
from wavescope.analyze.findings import findings, findings_result
from wavescope.model.result import Finding, Severity

MS, US = 1_000_000, 1_000
STEPS = 40


def steps(
    *, early_ns: int, launch_ns: int = 5 * US, gap_ns: int = MS, busy_ns: int = 100 * US
) -> TraceMaker:
    """Kernels of `busy_ns` with gaps of `gap_ns`, each launched `early_ns` before it begins."""
    maker = a_trace()
    for index in range(STEPS):
        start = MS + index * (gap_ns + busy_ns)
        maker.with_kernel("k", start, start + busy_ns)
        call = start - early_ns
        maker.with_call("hipLaunchKernel", call, call + launch_ns)
        maker.with_link(index + 1, index + 1)
    return maker


def during_gaps(maker: TraceMaker, name: str, offset_ns: int, length_ns: int) -> TraceMaker:
    """A call in every gap of `steps`."""
    for index in range(1, STEPS):
        gap_start = index * (MS + 100 * US)
        maker.with_call(name, gap_start + offset_ns, gap_start + offset_ns + length_ns)
    return maker


def idle(maker: TraceMaker) -> Finding:
    (finding,) = (each for each in findings(maker.build()) if each.id == "gpu-idle")
    return finding


def cause(finding: Finding) -> tuple[object, object]:
    return finding.numbers["main_cause"], finding.numbers["reason"]


def test_the_innermost_function_that_covers_most_is_named() -> None:
    maker = steps(early_ns=10 * US)
    during_gaps(maker, "app/data.py(1): load", 0, 950 * US)
    during_gaps(maker, "scipy/ndimage/_interpolation.py(7): zoom", 100 * US, 700 * US)
    during_gaps(maker, "<built-in function zoom_shift>", 150 * US, 600 * US)
    during_gaps(maker, "app/data.py(9): crop", 820 * US, 100 * US)
    finding = idle(maker)

    assert cause(finding) == ("before", "host_work")
    assert finding.numbers["before_call"] == "scipy.ndimage.zoom"
    assert finding.numbers["before_call_ns"] == (STEPS - 1) * 700 * US
    assert finding.numbers["before_stack"] == "app.data.load > scipy.ndimage.zoom"
    assert "scipy.ndimage.zoom" in finding.title and "scipy.ndimage.zoom" in finding.suggestion


def test_time_without_a_recorded_call_cannot_be_told() -> None:
    finding = idle(steps(early_ns=10 * US))

    assert cause(finding) == ("before", "unrecorded")
    assert "what it did cannot be told" in finding.evidence
    assert "before_call" not in finding.numbers


def test_the_call_that_waits_is_named() -> None:
    finding = idle(during_gaps(steps(early_ns=10 * US), "hipEventSynchronize", 0, 900 * US))

    assert cause(finding) == ("waiting", "waiting")
    assert finding.numbers["waiting_call"] == "hipEventSynchronize"
    assert finding.numbers["waiting_ns"] == (STEPS - 1) * 900 * US


def test_a_host_that_waits_for_every_result_cannot_launch_ahead() -> None:
    maker = steps(early_ns=10 * US, gap_ns=100 * US, busy_ns=100 * US)
    for index in range(1, STEPS):
        gap_start = MS + index * 200 * US - 100 * US
        maker.with_call("hipStreamSynchronize", gap_start - 50 * US, gap_start + 5 * US)
    finding = idle(maker)

    assert cause(finding) == ("before", "drained")
    assert "hipStreamSynchronize" in finding.title


def test_short_gaps_are_the_pace_of_launching() -> None:
    assert cause(idle(steps(early_ns=10 * US, gap_ns=100 * US))) == ("before", "launching")


def test_long_launches_are_told_apart_from_first_launches() -> None:
    maker = steps(early_ns=900 * US, launch_ns=890 * US)

    assert cause(idle(maker)) == ("in_launch", "launch")


def test_first_launches_are_start_up_and_no_gain() -> None:
    maker = a_trace()
    for index in range(STEPS):
        is_first = index in (1, 2)
        start = (
            MS + index * 200 * US + (50 * MS if index >= 1 else 0) + (60 * MS if index >= 2 else 0)
        )
        maker.with_kernel(f"k{min(index, 3)}", start, start + 100 * US)
        length = 40 * MS if is_first else 5 * US
        maker.with_call("hipLaunchKernel", start - length - US, start - US)
        maker.with_link(index + 1, index + 1)
    finding = idle(maker)

    assert cause(finding) == ("in_launch", "first_launch")
    assert finding.numbers["first_launch_ns"] == finding.numbers["startup_ns"] == 80 * MS
    assert "2 kernels spent 80.00 ms in the first launch" in finding.evidence
    # Of 113.9 ms idle in 117.9 ms, without first launches and 1 us for each of 39 gaps.
    assert finding.gain_percent == pytest.approx(100 * (113.9 - 80 - 0.039) / 117.9)


def test_one_op_that_waits_for_an_event_is_no_launch_problem() -> None:
    maker = steps(early_ns=5 * US, launch_ns=US, gap_ns=2 * US)
    last = MS + STEPS * 102 * US
    maker.with_call("hipStreamWaitEvent", last - 5 * US, last - 3 * US)
    maker.with_call("hipLaunchKernel", last - 2 * US, last)
    maker.with_kernel("late", last + 400 * MS, last + 401 * MS, queue=1)
    maker.with_link(STEPS + 2, STEPS + 1)
    maker.with_call("hipMemcpy", last + 10 * US, last + 399 * MS)
    finding = idle(maker)

    assert cause(finding) == ("after_launch", "event")
    assert "late (op 41) was launched by hipLaunchKernel in 2.000 us and began" in finding.evidence
    assert "the host waited in hipMemcpy" in finding.evidence
    assert "first op of its queue" in finding.evidence
    assert finding.suggestion.startswith("launching less does not help")
    assert (finding.severity, finding.gain_percent) == (Severity.WARNING, None)


@pytest.mark.parametrize(("queue", "reason"), [(0, "unknown"), (1, "first_of_queue")])
def test_what_an_op_waited_for_may_be_unknown(queue: int, reason: str) -> None:
    maker = steps(early_ns=5 * US, launch_ns=US, gap_ns=2 * US)
    last = MS + STEPS * 102 * US
    maker.with_call("hipLaunchKernel", last - 2 * US, last)
    maker.with_kernel("late", last + 400 * MS, last + 401 * MS, queue=queue)
    maker.with_link(STEPS + 1, STEPS + 1)

    assert cause(idle(maker)) == ("after_launch", reason)


def test_steps_between_nodes_of_a_graph_are_neither_launches_nor_launch_bound() -> None:
    maker = a_trace().with_call("hipGraphLaunch", 0, 10 * US)
    for index in range(200):
        start = 20 * US + index * 6 * US
        maker.with_kernel("k", start, start + 2 * US).with_link(1, index + 1)
    found = {each.id: each for each in findings(maker.build())}

    assert cause(found["gpu-idle"]) == ("after_launch", "graph_step")
    assert "launch-bound" not in found


def test_steps_between_queued_ops_are_no_fault_of_the_host() -> None:
    maker = a_trace()
    for index in range(200):
        start = MS + index * 6 * US
        maker.with_kernel("k", start, start + 2 * US)
        maker.with_call("hipLaunchKernel", index * US, index * US + 500)
        maker.with_link(index + 1, index + 1)
    finding = idle(maker)

    assert cause(finding) == ("after_launch", "queue_step")
    assert finding.numbers["after_queue_step_ns"] == 199 * 4 * US
    assert "the host is fast enough" in finding.suggestion
    assert "launch-bound" not in [each.id for each in findings(maker.build())]


def test_ops_that_began_soon_after_their_launch_were_delivered() -> None:
    finding = idle(steps(early_ns=15 * US, launch_ns=US, gap_ns=15 * US, busy_ns=10 * US))

    assert cause(finding) == ("after_launch", "delivery")


def test_two_parts_that_are_nearly_alike_are_both_told() -> None:
    maker = steps(early_ns=500 * US, launch_ns=490 * US)
    during_gaps(maker, "app/data.py(1): load", 0, 490 * US)
    finding = idle(maker)

    assert "app.data.load" in finding.title
    assert "the launch calls themselves took that long" in finding.title


def test_ten_ops_promise_no_gain() -> None:
    maker = a_trace()
    for index in range(10):
        maker.with_kernel("k", index * MS, index * MS + 10)
    finding = idle(maker)

    assert (finding.severity, finding.gain_percent, finding.gain_basis) == (Severity.INFO, None, "")
    assert "10 ops are too few to judge a program by" in finding.evidence


def test_gaps_before_the_first_step_are_start_up() -> None:
    maker = a_trace().with_kernel("setup", 0, US)
    for index in range(STEPS):
        start = 100 * MS + index * 2 * MS
        maker.with_kernel("k", start, start + 1_990 * US)
    maker.with_marker("train", 100 * MS - US, 100 * MS + STEPS * 2 * MS)
    finding = idle(maker)

    assert finding.numbers["startup_ns"] == 100 * MS - US
    assert finding.severity is Severity.INFO


def test_every_gpu_is_in_the_table_whether_it_idles_or_not() -> None:
    maker = a_trace().with_kernel("a", 0, 10).with_kernel("a", 90, 100)
    maker.with_kernel("a", 0, 60, gpu=1).with_kernel("a", 61, 100, gpu=1)
    rows = findings_result(maker.build()).table("idle").records()

    assert [(row["gpu"], row["idle_ns"], row["unlinked_ns"]) for row in rows] == [
        (0, 80, 80),
        (1, 1, 1),
    ]


def test_numbers_of_dispatches_that_jump_are_told_first() -> None:
    maker = a_trace()
    for index in range(50):
        maker.with_kernel("k", index * MS, index * MS + 10, sequence=1 + 10 * index)
    found = {each.id: each for each in findings(maker.build())}

    assert (found["low-coverage"].numbers["seen"], found["low-coverage"].numbers["timed"]) == (
        491,
        50,
    )
    assert found["gpu-idle"].evidence.startswith("441 of 491 dispatch numbers are missing")
    assert found["gpu-idle"].gain_percent is None


def test_numbers_that_count_each_queue_are_complete() -> None:
    maker = a_trace()
    for index in range(50):
        maker.with_kernel(
            "k", index * MS, index * MS + 10, sequence=1 + index // 2, queue=index % 2
        )

    assert "low-coverage" not in [each.id for each in findings(maker.build())]


@pytest.mark.parametrize(
    ("pause_ns", "told"),
    [(0, {"tiny-kernels": Severity.WARNING, "copy-storm": Severity.WARNING}),
     (500 * US, {"tiny-kernels": Severity.INFO})],
)  # fmt: skip
def test_how_a_gpu_works_matters_little_where_it_idles(
    pause_ns: int, told: dict[str, Severity]
) -> None:
    maker = a_trace()
    for index in range(100):
        start = index * (4 * US + pause_ns)
        maker.with_kernel(traces.FILL, start, start + 2 * US)
        maker.with_kernel("norm", start + 2 * US, start + 4 * US)
    found = {each.id: each.severity for each in findings(maker.build())}

    assert {key: found[key] for key in ("tiny-kernels", "copy-storm") if key in found} == told


def test_kernels_that_take_no_time_are_no_tiny_kernels() -> None:
    maker = a_trace()
    for index in range(700):
        maker.with_kernel("norm", index * US, index * US)

    assert "tiny-kernels" not in {each.id for each in findings(maker.build())}


def test_collectives_and_copies_of_the_runtime_count_as_tiny_kernels() -> None:
    maker = a_trace()
    for index in range(40):
        name = ("__amd_rocclr_copyBuffer", "ncclDevKernel_AllReduce_Sum_bf16", "norm", "act")[
            index % 4
        ]
        maker.with_kernel(name, index * 2 * US, index * 2 * US + 2 * US)
    (finding,) = (each for each in findings(maker.build()) if each.id == "tiny-kernels")

    assert (finding.numbers["tiny_count"], finding.numbers["kernel_count"]) == (40, 40)
    assert finding.gain_percent == 100.0
    assert "rocclr" not in finding.evidence


def test_no_cause_is_named_where_most_ops_began_before_their_launch() -> None:
    # The GPU's clock runs 50 us early: each kernel begins 40 us before the call that launched it.
    contradicted = idle(steps(early_ns=-40 * US))
    sound = idle(steps(early_ns=10 * US))

    assert contradicted.title == "GPU 0 was idle for 90.7 % of its span"
    assert "39 of the 39 gaps ended before the launch call of the op began" in contradicted.evidence
    assert sound.title.startswith(f"{contradicted.title}, mostly because the host")
    assert "clocks" not in sound.evidence
