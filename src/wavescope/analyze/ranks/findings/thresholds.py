"""From where on something about a job of ranks is worth telling."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RankThresholds:
    """When a finding is told; docs/ranks.md has the same table."""

    exposed_percent: float = 15.0
    """exposed-communication: least median over ranks of exposed / span."""
    exposed_problem_percent: float = 40.0
    """From here on it is a problem, not a warning."""
    waiting_percent: float = 5.0
    """arrival-skew: least share of all ranks' time spent waiting for the last to arrive."""
    waiting_problem_percent: float = 20.0
    expert_imbalance: float = 1.25
    """expert-imbalance: least median of max / mean over ranks."""
    expert_steps: int = 3
    """Fewer steps are told as nothing."""
    bubble_percent: float = 20.0
    """pipeline-bubbles: least mean over stages of their bubbles."""
    stage_balance: float = 1.1
    """From here on the slowest stage is named as a cause."""
    outlier_ranks: int = 5
    """rank-outlier: so many ranks are told, the furthest first; the table has all."""
