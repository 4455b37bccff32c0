"""What is said of a trace that lacks dispatches: that they are missing, or that the newest stay."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.findings import findings
from wavescope.model.result import Finding, Severity

DROPPED = "older than the newest records, which are all that --max-size keeps"
FELL_OUT = "older than the newest part, which is all that was to be kept"
NO_TIMES = "for which the GPU left no times"


def recorded(*missing: tuple[str, int], seen: int = 1000) -> TraceMaker:
    """A trace of `seen` dispatches without `missing`, by reason."""
    maker = a_trace()
    timed = seen - sum(count for _, count in missing)
    for place, (reason, count) in enumerate(missing):
        is_first = place == 0
        which = "lost" if reason == NO_TIMES else "skipped"
        maker.with_coverage(
            seen * is_first,
            timed * is_first,
            **{"skipped": 0, "lost": 0, which: count},
            reason=reason,
        )
    return maker.with_kernel("gemm", 0, 10)


def low_coverage(maker: TraceMaker) -> Finding:
    (found,) = (each for each in findings(maker.build()) if each.id == "low-coverage")
    return found


@pytest.mark.parametrize(
    ("missing", "suggestion"),
    [
        ([(DROPPED, 960)], "raise `--max-size` to have more of the run"),
        ([(FELL_OUT, 960)], "raise `--last` to have more of the run"),
        (
            [(DROPPED, 60), (FELL_OUT, 900)],
            "raise `--max-size` and `--last` to have more of the run",
        ),
        ([(NO_TIMES, 50), (DROPPED, 910)], "raise `--max-size` to have more of the run"),
    ],
)
def test_where_the_newest_were_to_be_kept_that_is_said(
    missing: list[tuple[str, int]], suggestion: str
) -> None:
    found = low_coverage(recorded(*missing))

    assert found.severity is Severity.INFO
    assert found.title == (
        "The newest part of the run is in the trace, as asked: 40 of 1,000 dispatches"
    )
    assert found.suggestion == suggestion
    assert found.evidence.startswith("the recorder timed 4.0 % of 1,000 dispatches: 9")
    assert found.numbers["timed_percent"] == 4.0


def test_what_is_missing_beside_what_is_too_old_remains_a_problem() -> None:
    found = low_coverage(recorded((DROPPED, 900), (NO_TIMES, 60)))

    assert found.severity is Severity.PROBLEM
    assert found.title == "Only 4.0 % of the dispatches are in the trace"


def test_of_a_sampled_trace_what_lies_outside_of_slices_is_told_by_another() -> None:
    maker = recorded(("outside the slices", 600), (DROPPED, 360)).with_slice(0, 100)

    found = low_coverage(maker)
    assert (found.severity, found.suggestion) == (
        Severity.INFO,
        "raise `--max-size` to have more of the run",
    )


@pytest.mark.parametrize(("reason", "has_gain"), [(DROPPED, True), (NO_TIMES, False)])
def test_idle_time_of_the_newest_part_is_what_it_is(reason: str, has_gain: bool) -> None:
    maker = recorded((reason, 960))
    for index in range(50):
        start = 10_000_000 + index * 100_000
        maker.with_kernel("k", start, start + 10_000)
        maker.with_call("hipLaunchKernel", start - 20_000, start - 19_000)
        maker.with_link(index + 1, index + 2)

    (idle,) = (each for each in findings(maker.build()) if each.id == "gpu-idle")
    assert (idle.gain_percent is not None) == has_gain
    assert ("of the dispatches are in the trace" in idle.evidence) == (not has_gain)
