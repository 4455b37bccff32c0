"""The critical path as accounts of steps, and its excess by rank and by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wavescope.analyze.ranks.stragglers.path import Piece
from wavescope.analyze.ranks.stragglers.report import PathKind, PathPart, StepAccount
from wavescope.arrays.intervals import Times


@dataclass(frozen=True)
class PathExcess:
    """How much longer than typical the path was, where."""

    local_ns: Times
    """[place, step]."""
    transfer_ns: Times
    """[group, step]."""
    actual_ns: Times
    """[step]: the whole path; the longest of several."""


def step_accounts(pieces: Sequence[Piece], reference_ns: Times) -> tuple[StepAccount, ...]:
    """Pieces by step; the sum over the parts of a step is exact."""
    by_step: dict[int, list[PathPart]] = {}
    for piece, reference in zip(pieces, reference_ns.tolist(), strict=True):
        part = PathPart(
            piece.kind,
            piece.place,
            piece.group,
            piece.exchange,
            piece.start_ns,
            piece.end_ns,
            reference,
        )
        by_step.setdefault(piece.step, []).append(part)
    return tuple(
        StepAccount(
            step,
            sum(part.actual_ns for part in parts),
            sum(part.reference_ns for part in parts),
            tuple(parts),
        )
        for step, parts in sorted(by_step.items())
    )


def slowest_accounts(paths: Sequence[Sequence[StepAccount]]) -> tuple[StepAccount, ...]:
    """For each step the longest of the paths of ranks that have nothing to do with each other."""
    slowest: dict[int, StepAccount] = {}
    for path in paths:
        for account in path:
            known = slowest.get(account.step)
            if known is None or account.actual_ns > known.actual_ns:
                slowest[account.step] = account
    return tuple(slowest[step] for step in sorted(slowest))


def path_excess(
    paths: Sequence[Sequence[StepAccount]], place_count: int, group_count: int, step_count: int
) -> PathExcess:
    """The excess of all paths in matrices."""
    local = np.zeros((place_count, step_count), np.int64)
    transfer = np.zeros((group_count, step_count), np.int64)
    actual = np.zeros(step_count, np.int64)
    for account in (account for path in paths for account in path):
        actual[account.step] = max(actual[account.step], account.actual_ns)
        for part in account.parts:
            if part.kind is PathKind.LOCAL:
                local[part.place, account.step] += part.excess_ns
            elif part.group >= 0:
                transfer[part.group, account.step] += part.excess_ns
    return PathExcess(local, transfer, actual)
