"""Work that is spread unevenly: over experts, over stages, and ranks that differ from the rest."""

from __future__ import annotations

from wavescope.analyze.ranks.findings.context import RankContext
from wavescope.model.result import Finding, Severity
from wavescope.units import counted, duration_text

EXPERTS_ID = "expert-imbalance"
BUBBLES_ID = "pipeline-bubbles"
OUTLIER_ID = "rank-outlier"

_SHOWN = 4


def expert_imbalance(context: RankContext) -> list[Finding]:
    """A finding when one rank's experts have much more to do than the others'."""
    limits = context.thresholds
    uneven = [
        row
        for row in context.rows.experts
        if row.imbalance >= limits.expert_imbalance and row.step_count >= limits.expert_steps
    ]
    if not uneven:
        return []
    # What costs time comes before what may cost some.
    worst = min(uneven, key=lambda row: (row.lost_ns is None, -row.imbalance))
    number = context.measures.job.numbers[worst.place]
    lost = f", {duration_text(worst.lost_ns)} more per step" if worst.lost_ns else ""
    steps = counted(worst.step_count, "step")
    recurs = 2 * worst.most_count > worst.step_count
    view = context.view_step(worst.place, worst.worst_step)
    return [
        Finding(
            EXPERTS_ID,
            Severity.WARNING,
            f"experts are uneven: the busiest rank has {worst.imbalance:.2f} times the mean",
            f"{worst.metric} within {worst.where}, median of {steps}{lost}; most often on "
            f"{context.rank_name(worst.place)}, in {worst.most_count} of them; at worst "
            f"{worst.worst:.2f} times in step {worst.worst_step}",
            (
                "the same rank has most: place its hot experts elsewhere or replicate them"
                if recurs
                else "the rank changes from step to step: look at the router's balance and capacity"
            )
            + (f"; the worst step: `{view}`" if view else ""),
            where=context.rank_name(worst.place) if recurs else "",
            numbers={
                "imbalance": worst.imbalance,
                "imbalance_p95": worst.imbalance_p95,
                "rank": number,
                "most_count": worst.most_count,
                "step_count": worst.step_count,
                "lost_ns": worst.lost_ns,
            },
        )
    ]


def pipeline_bubbles(context: RankContext) -> list[Finding]:
    """A finding when stages of a pipeline stand idle for much of each step."""
    rows = [row for row in context.rows.stages if row.bubble_percent is not None]
    shares = [row.bubble_percent or 0.0 for row in rows]
    mean = sum(shares) / len(shares) if shares else 0.0
    limits = context.thresholds
    if mean < limits.bubble_percent:
        return []
    slowest = max(rows, key=lambda row: row.compute_ns)
    is_uneven = (slowest.balance or 1.0) >= limits.stage_balance
    each = ", ".join(
        f"stage {row.stage} {share:.1f} %" for row, share in zip(rows, shares, strict=True)
    )
    return [
        Finding(
            BUBBLES_ID,
            Severity.WARNING,
            f"pipeline stages stand idle {mean:.1f} % of each step",
            f"{each}; stage {slowest.stage} (ranks {context.measures.rank_text(slowest.places)}) "
            f"computes longest, {duration_text(slowest.compute_ns)} per step, "
            f"{slowest.balance or 1.0:.2f} times the mean",
            "move layers away from the slowest stage: all others wait for it"
            if is_uneven
            else "stages are even: more micro-batches per step, or an interleaved schedule",
            gain_percent=mean,
            gain_basis="no bubbles at all",
            numbers={
                "bubble_percent": mean,
                "stage_count": len(rows),
                "slowest_stage": slowest.stage,
                "balance": slowest.balance,
            },
        )
    ]


def rank_outliers(context: RankContext) -> list[Finding]:
    """A finding for each of the ranks that differ most from the rest."""
    by_place: dict[int, list[str]] = {}
    furthest: dict[int, float | None] = {}
    for row in context.rows.outliers:
        by_place.setdefault(row.place, []).append(f"{row.metric} {row.shown}")
        furthest.setdefault(row.place, row.distance)
    found = []
    for place in list(by_place)[: context.thresholds.outlier_ranks]:
        told = by_place[place]
        digest = context.measures.job.ranks[place]
        more = f"; and {len(told) - _SHOWN} more figures" if len(told) > _SHOWN else ""
        found.append(
            Finding(
                OUTLIER_ID,
                Severity.INFO,
                f"{context.rank_name(place)} differs from the other ranks",
                "; ".join(told[:_SHOWN]) + more,
                "compare it with a rank that is like the rest: "
                f"`{context.view_command(place, digest.first_ns, digest.last_ns)}`",
                where=context.rank_name(place),
                numbers={
                    "rank": context.measures.job.numbers[place],
                    "distance": furthest[place],
                    "metric_count": len(told),
                },
            )
        )
    return found
