"""Traces put together from the steps of real ones, so that phase and number of steps are known."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tests.phase_score import PHASE_WORDS, UNKNOWN
from wavescope.analyze.markers import marked_ops
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import OPS
from wavescope.model.trace import Trace

COLUMNS = tuple(
    name for name in OPS.column_names if name not in {"id", "marker"} and not name.endswith("text")
)


class RealStep(NamedTuple):
    """The ops of one step of a real trace."""

    trace: Trace
    rows: np.ndarray
    phase: int


def marked_passes(trace: Trace) -> list[RealStep]:
    """One step for each range that is named like a phase and holds no other such range."""
    found, ranges = marked_ops(trace)
    names = [trace.strings[code].lower() for code in found.host.names.tolist()]
    phases = [
        next((phase for word, phase in PHASE_WORDS.items() if word in name), UNKNOWN)
        for name in names
    ]
    return [
        RealStep(trace, rows, phases[each])
        for each in np.unique(ranges.host[ranges.host >= 0]).tolist()
        if phases[each] != UNKNOWN and (rows := np.flatnonzero(ranges.host == each)).size
    ]


def whole_trace(trace: Trace, phase: int) -> RealStep:
    return RealStep(trace, np.arange(len(trace.ops)), phase)


@dataclass(frozen=True)
class Spoiled:
    """What is done to a composed trace."""

    lost_share: float = 0.0
    hashed_share: float = 0.0
    """So many of the kernels are called by a hash."""
    gap_ns: int = 30_000
    knows_sizes: bool = True
    seed: int = 0


class Composed(NamedTuple):
    """A trace, the phase of each op, and how many steps it has."""

    trace: Trace
    truth: np.ndarray
    step_count: int


def composed(steps: Sequence[RealStep], spoiled: Spoiled | None = None) -> Composed:
    """The steps one after another on one queue of one GPU, as if one program had run them."""
    spoiled = spoiled or Spoiled()
    draw = random.Random(spoiled.seed)
    builder = TraceBuilder("composed", "generated")
    names = _Names(builder, spoiled, draw)
    now_ns, launches, parts, truth = 1_000_000, 0, [], []
    for step in steps:
        ops = step.trace.ops.take(_kept(step.rows, spoiled.lost_share, draw))
        part = {name: ops[name].astype(np.int64) for name in COLUMNS}
        part["name"] = names.codes(ops.strings("name"))
        part["type"] = builder.strings.codes(ops.strings("type")).astype(np.int64)
        shift = now_ns - int(part["start_ns"].min())
        part["start_ns"] += shift
        part["end_ns"] += shift
        alone = part["correlation"] < 0
        _, part["correlation"] = np.unique(part["correlation"], return_inverse=True)
        part["correlation"][:] += launches
        part["correlation"][alone] = -1
        launches = int(part["correlation"].max()) + 1
        now_ns = int(part["end_ns"].max()) + draw.randint(spoiled.gap_ns // 2, 2 * spoiled.gap_ns)
        parts.append(part)
        truth.append(np.full(len(part["name"]), step.phase, np.int8))
    columns = {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}
    columns["gpu"][:], columns["queue"][:], columns["process"][:] = 0, 0, 0
    if not spoiled.knows_sizes:
        for axis in "xyz":
            columns[f"grid_{axis}"][:] = -1
            columns[f"workgroup_{axis}"][:] = -1
    builder.add(OPS, columns)
    return Composed(Trace(builder), np.concatenate(truth), len(steps))


def _kept(rows: np.ndarray, lost_share: float, draw: random.Random) -> np.ndarray:
    if not lost_share:
        return rows
    return np.array([row for row in rows.tolist() if draw.random() >= lost_share] or rows[:1])


class _Names:
    """Names as recorded, or some of them as hashes."""

    def __init__(self, builder: TraceBuilder, spoiled: Spoiled, draw: random.Random) -> None:
        self._strings = builder.strings
        self._spoiled, self._draw = spoiled, draw
        self._known: dict[str, str] = {}

    def codes(self, names: Sequence[str]) -> np.ndarray:
        return self._strings.codes([self._name(name) for name in names]).astype(np.int64)

    def _name(self, name: str) -> str:
        if name not in self._known:
            is_hashed = bool(name) and self._draw.random() < self._spoiled.hashed_share
            digest = hashlib.sha256(name.encode()).hexdigest()[:16]
            self._known[name] = f"kernel_{digest}" if is_hashed else name
        return self._known[name]
