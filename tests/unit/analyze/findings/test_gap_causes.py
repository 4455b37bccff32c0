"""The likely cause of a gap, from the launch of the op that ended it."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.idle_causes import GapCause, gap_causes
from wavescope.analyze.ops import gaps as idle_gaps

GAP_START, GAP_END = 100_000, 200_000


def a_gap(call_start: int, call_end: int, *, copy: str = "", returned: bool = False) -> TraceMaker:
    """A gap from 100 to 200 us that ends with an op launched by a call at the given time."""
    maker = a_trace()
    first_type = {"type": "CopyDeviceToHost"} if returned else {}
    maker.with_op("" if returned else "first", 0, GAP_START, **first_type)
    maker.with_op("next", GAP_END, GAP_END + 10, **({"type": copy} if copy else {}))
    maker.with_call("hipLaunchKernel", call_start, call_end)
    return maker.with_link(1, 2)


def causes(context: FindingContext) -> list[int]:
    """The causes of all gaps of the first GPU, the longest first."""
    (gaps, *_) = context.gaps
    found: list[int] = gap_causes(
        context, idle_gaps.longest_gaps(context.trace, gaps, len(gaps))
    ).tolist()
    return found


@pytest.mark.parametrize(
    ("maker", "cause"),
    [
        (a_gap(150_000, 160_000), GapCause.HOST),
        (a_gap(150_000, 160_000).with_call("hipStreamSynchronize", 90_000, 101_000), GapCause.SYNC),
        (a_gap(150_000, 160_000).with_call("hipMemcpy", 90_000, 101_000), GapCause.SYNC),
        (a_gap(150_000, 160_000).with_call("hipMemcpyAsync", 90_000, 101_000), GapCause.HOST),
        (
            a_gap(150_000, 160_000).with_call("cudaDeviceSynchronize", 90_000, 101_000, thread=2),
            GapCause.HOST,
        ),
        (a_gap(150_000, 160_000, copy="CopyHostToDevice"), GapCause.COPY),
        (a_gap(150_000, 160_000, returned=True), GapCause.COPY),
        (a_gap(95_000, 150_000), GapCause.LAUNCH_LATENCY),
        (a_gap(50_000, 60_000), GapCause.DEPENDENCY),
        (
            a_trace().with_kernel("a", 0, GAP_START).with_kernel("b", GAP_END, 300_000),
            GapCause.UNKNOWN,
        ),
    ],
)
def test_cause(maker: TraceMaker, cause: GapCause) -> None:
    context = FindingContext(maker.build())

    (gaps,) = context.gaps
    assert gaps.after.tolist() == [1]
    assert causes(context) == [cause]


def test_a_short_gap_before_an_op_launched_in_time_is_latency() -> None:
    maker = a_trace().with_kernel("a", 0, 100_000).with_kernel("b", 110_000, 120_000)
    maker.with_call("hipLaunchKernel", 10_000, 20_000).with_link(1, 2)
    context = FindingContext(maker.build())

    assert causes(context) == [GapCause.LAUNCH_LATENCY]


@pytest.mark.parametrize("few_gaps", [2_000, 0])
def test_gaps_of_each_gpu_find_their_own_ops_and_no_barriers(
    few_gaps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_gaps, "_FEW_GAPS", few_gaps)
    maker = a_trace()
    for gpu in (3, 7):
        maker.with_kernel("a", 0, 10_000, gpu=gpu)
    maker.with_op("", 50_000, 60_000, type="Barrier", gpu=3)
    maker.with_kernel("b", 50_000, 60_000, gpu=7).with_kernel("c", 50_000, 70_000, gpu=3)
    maker.with_kernel("d", 50_000, 70_000, gpu=3)
    context = FindingContext(maker.build())

    assert [gaps.gpu for gaps in context.gaps] == [3, 7]
    assert [gaps.after.tolist() for gaps in context.gaps] == [[4], [3]]
