"""What stands out of an overhead measurement: what costs, what is unclear, what says nothing."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.compare.overhead.costs import ModeCost, OverheadCheck, recorded_nothing
from wavescope.analyze.compare.statistics.effects import Effect, pairs_needed
from wavescope.analyze.compare.statistics.verdicts import Verdict
from wavescope.model.overhead_runs import WALL, MetricKind, OverheadRuns
from wavescope.model.result import Finding, Severity


def told_apart(measurements: Sequence[OverheadRuns]) -> list[str]:
    """Labels; where several measurements of a case share one, with their times, then a number."""
    keys = [(each.label, each.case) for each in measurements]
    dated = [
        (f"{each.label} ({each.recorded_at})", each.case)
        if keys.count(key) > 1 and each.recorded_at
        else key
        for key, each in zip(keys, measurements, strict=True)
    ]
    return [
        f"{key[0]} #{dated[:place].count(key) + 1}" if dated.count(key) > 1 else key[0]
        for place, key in enumerate(dated)
    ]


def cost_findings(
    costs: Sequence[ModeCost], check: OverheadCheck, metric: MetricKind
) -> list[Finding]:
    found = [
        Finding(
            "recording-costs",
            Severity.WARNING,
            f"mode {cost.mode} makes the program {cost.effect.change_percent:.1f} % slower",
            f"interval {_span(cost.effect)}, p {cost.effect.p_value or 0:.2g}",
            "use a lighter mode, or record a part: --delay, --duration, --kernel",
            cost.mode,
        )
        for cost in costs
        if cost.verdict is Verdict.REGRESSION
    ]
    unclear = [cost for cost in costs if cost.verdict is Verdict.INCONCLUSIVE]
    if unclear:
        found.append(_unclear(unclear, check, metric))
    return found


def _unclear(costs: Sequence[ModeCost], check: OverheadCheck, metric: MetricKind) -> Finding:
    needed = [
        pairs_needed(cost.effect, check.threshold_percent, check.significance) for cost in costs
    ]
    most = max((count for count in needed if count), default=0)
    if not all(cost.effect.is_known for cost in costs):
        advice = "one round says nothing about the noise: --rounds 5"
    elif most and all(needed):
        advice = f"--rounds {most}, longer runs or a quieter machine"
    else:
        advice = "make the runs longer or the machine quieter"
        advice += "; --metric cpu is less disturbed" if metric.name == WALL else ""
    return Finding(
        "overhead-unclear",
        Severity.INFO,
        f"neither shown to be free nor to cost {check.threshold_percent:g} %: "
        f"{', '.join(cost.mode for cost in costs)}",
        "; ".join(f"{cost.mode} {_span(cost.effect)}" for cost in costs),
        advice,
    )


def _span(effect: Effect) -> str:
    if effect.low_percent is None or effect.high_percent is None:
        return "unknown"
    return f"{effect.low_percent:+.1f} % to {effect.high_percent:+.1f} % of time"


def coverage_findings(runs: OverheadRuns, costs: Sequence[ModeCost]) -> list[Finding]:
    """A mode that records nothing is free: the figure must not be read as praise."""
    return [
        Finding(
            "nothing-recorded",
            Severity.PROBLEM,
            f"mode {cost.mode} recorded no op in any run",
            "what costs nothing because it does nothing is not free",
            "`wavescope doctor` says what recording needs here",
            cost.mode,
        )
        for cost in costs
        if recorded_nothing(runs, cost.mode)
    ]


def command_findings(runs: OverheadRuns, against: Sequence[OverheadRuns]) -> list[Finding]:
    """Where measurements of one case are of another program."""
    labels = told_apart((*against, runs))
    others = [
        f"{label}: {other.command}"
        for label, other in zip(labels, against, strict=False)
        if other.case == runs.case
        and (other.command, other.softgpu) != (runs.command, runs.softgpu)
    ]
    if not others:
        return []
    return [
        Finding(
            "other-program",
            Severity.WARNING,
            "the stored measurements are of another program",
            "; ".join(others),
            "compare measurements of one command on one machine",
        )
    ]
