"""Which counters are collected in which run: from panels, sets and rooflines to passes."""

from __future__ import annotations

from wavescope.analyze.counters.planning.profile import (
    ProfileChoice,
    blocks_result,
    plan_result,
    profile_passes,
    sets_result,
    wants_pc_samples,
)

__all__ = [
    "ProfileChoice",
    "blocks_result",
    "plan_result",
    "profile_passes",
    "sets_result",
    "wants_pc_samples",
]
