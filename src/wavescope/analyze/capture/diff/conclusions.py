"""What two captures of one kernel say together, and why that may be doubted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wavescope.analyze.capture.diff.wave_costs import WaveCosts, change_percent
from wavescope.analyze.capture.idle_waves import told_nothing
from wavescope.model.result import Finding, Severity
from wavescope.names.kernel_names import short_name
from wavescope.units import duration_text

_NOTABLE_PERCENT = 2.0
_OTHER_WORK_PERCENT = 10.0
"""Of executed instructions of the same code: more is another amount of work."""
_SHOWN = 3


def conclusions(
    a: WaveCosts,
    b: WaveCosts,
    *,
    moved: Mapping[str, float],
    instructions: int,
    without_partner: int,
) -> list[Finding]:
    """The verdict, then doubts. `moved` is charged stall by line, what changed most first."""
    alone = (
        [
            _doubt(
                "most instructions have no partner",
                f"{without_partner:,} of {instructions:,} rows are only in one capture: compare by "
                "line",
            )
        ]
        if 2 * without_partner > instructions
        else []
    )
    work = _other_work(a, b) if not without_partner else None
    return [_verdict(a, b, moved), *_doubts(a, b), *alone, *([work] if work else [])]


def _verdict(a: WaveCosts, b: WaveCosts, moved: Mapping[str, float]) -> Finding:
    change = change_percent(a, b)
    words = (
        "takes as many cycles as"
        if change is None or abs(change) < _NOTABLE_PERCENT
        else (f"takes {abs(change):.1f} % {'more' if change > 0 else 'fewer'} cycles than")
    )
    lines = [f"{line} {cycles:+,.0f}" for line, cycles in list(moved.items())[:_SHOWN] if cycles]
    where = f"; charged stall per wave by line: {', '.join(lines)}" if lines else ""
    launches = ""
    if a.launch_ns and b.launch_ns:
        launches = (
            f"; the launch took {duration_text(a.launch_ns)} in A and "
            f"{duration_text(b.launch_ns)} in B"
        )
    is_worse = change is not None and change >= _NOTABLE_PERCENT
    return Finding(
        "capture-change",
        Severity.WARNING if is_worse else Severity.INFO,
        f"a wave of B {words} one of A",
        f"{a.cycles:,.0f} cycles per wave in A, {b.cycles:,.0f} in B; stall {a.stall:,.0f} and "
        f"{b.stall:,.0f}; {a.executed:,.0f} and {b.executed:,.0f} instructions executed{launches}"
        f"{where}",
        numbers={"change_percent": change, "launch_ns_a": a.launch_ns, "launch_ns_b": b.launch_ns},
    )


def _doubts(a: WaveCosts, b: WaveCosts) -> Iterator[Finding]:
    left, right = a.analysis, b.analysis
    names = short_name(left.capture.kernel_name), short_name(right.capture.kernel_name)
    if names[0] != names[1]:
        yield _doubt("the captures are of different kernels", f"A is {names[0]}, B is {names[1]}")
    if left.chip.name != right.chip.name:
        yield _doubt(
            "the captures are of different chips",
            f"A is {left.chip.name or 'unknown'}, B is {right.chip.name or 'unknown'}",
        )
    for name, each in (("A", left), ("B", right)):
        if (nothing := told_nothing(each)) is not None:
            yield _doubt(
                f"{name} tells nothing of the kernel", f"{nothing.title}; {nothing.evidence}"
            )
    if a.launch_waves and b.launch_waves and _percent(a.launch_waves, b.launch_waves) > 0:
        yield _doubt(
            "the launches have different numbers of waves",
            f"{a.launch_waves:,} in A, {b.launch_waves:,} in B: where the whole work is the same, "
            "a wave does another part of it, and durations of launches compare, not cycles of "
            "waves",
        )
    if left.capture.is_partial or right.capture.is_partial:
        missing = [*left.capture.missing, *right.capture.missing]
        yield _doubt("a capture is partial", "; ".join(missing))


def _other_work(a: WaveCosts, b: WaveCosts) -> Finding | None:
    """Of captures with the same code: whether it ran for another amount of work."""
    if not a.executed or _percent(a.executed, b.executed) < _OTHER_WORK_PERCENT:
        return None
    return _doubt(
        "the same code did another amount of work",
        f"a wave executes {a.executed:,.0f} instructions in A and {b.executed:,.0f} in B: were the "
        "inputs the same?",
    )


def _percent(before: float, after: float) -> float:
    return 100 * abs(after - before) / before


def _doubt(title: str, evidence: str) -> Finding:
    return Finding("capture-doubt", Severity.WARNING, title, evidence)
