"""Which captured launch each op of a graph replay comes from: by order and kernel names.

While a stream captures, launches run nothing: they are calls without an op. A replay runs the
kernels in their order. So the launches between the begin and the end of a capture, in this trace or
in one that was recorded while graphs were captured, are held against the ops of each graph launch.
ROCm's calls name their kernels, and only equal names are joined. CUDA's do not: there an alignment
counts if copies, fills and kernels are in the same places and the same operator with the same
inputs has the same kernels wherever it occurs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from wavescope.analyze.calls.call_inputs import call_arguments
from wavescope.analyze.calls.outermost import call_lanes
from wavescope.analyze.operators.attribution import (
    NOTHING,
    LaunchSource,
    Numbers,
    OpLaunches,
)
from wavescope.analyze.operators.graph_alignment import (
    COPY,
    FILL,
    UNNAMED,
    Places,
    aligned,
    aligned_without_names,
)
from wavescope.analyze.operators.shapes import operators_with_inputs
from wavescope.analyze.ops.op_links import op_links
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

MOST_CAPTURES = 16
"""As many captures may fit one replay; of more, none is taken."""
_BEGIN = re.compile(r"^(hip|cuda|cu)StreamBeginCapture")
_END = re.compile(r"^(hip|cuda|cu)StreamEndCapture")
_LAUNCH = re.compile(r"^(hip|cuda|cu)\w*(Launch\w*Kernel|Memcpy|Memset)")


@dataclass(frozen=True)
class Capture:
    """The launches of one capture in order: their rows, and what each would run."""

    trace: Trace
    rows: Numbers
    tokens: tuple[str, ...]
    """Kernel names; "" where the trace does not say, `Memcpy` and `Memset` for copies and fills."""
    end_ns: int

    def places_of(self, replay: Replay) -> Places:
        """For each op of the replay its launch among these, -1 where it is not certain."""
        if UNNAMED not in self.tokens:
            return aligned(self.tokens, replay.tokens, replay.queues)
        if len(self.tokens) != len(replay.tokens):
            return np.full(len(replay.tokens), NOTHING)
        return aligned_without_names(self.tokens, replay.tokens, self._origins())

    def _origins(self) -> list[Hashable]:
        """The operator and inputs of each launch, and which launch of that call it is."""
        found = operators_with_inputs(self.trace, self.rows)
        launched: Counter[int] = Counter()
        origins: list[Hashable] = []
        for place, (code, call) in enumerate(
            zip(found.code.tolist(), found.call.tolist(), strict=True)
        ):
            origins.append((code, launched[call]) if code >= 0 else place)
            launched[call] += 1
        return origins


@dataclass(frozen=True)
class Replay:
    """The ops of one graph launch in order of time."""

    ops: Numbers
    tokens: tuple[str, ...]
    queues: tuple[int, ...]
    start_ns: int
    """When the graph launch was called."""


def captured_launches(
    trace: Trace, launches: OpLaunches, captures: Sequence[Trace]
) -> list[LaunchSource]:
    """For ops of graph launches where they were captured; one source for each capture that fits."""
    own = _marked_captures(trace)
    others = [each for other in captures for each in _marked_captures(other) or _whole(other)]
    if not own and not others:
        return []
    known: dict[Hashable, list[tuple[Capture, Places]]] = {}
    own.sort(key=lambda capture: capture.end_ns)
    sources: dict[tuple[int, int], LaunchSource] = {}
    for replay in _replays(trace, launches):
        before = sum(each.end_ns <= replay.start_ns for each in own)
        key = (replay.tokens, replay.queues, before)
        if key not in known:
            known[key] = _best(replay, [*others, *own[:before]])
        for slot, (capture, places) in enumerate(known[key]):
            source = sources.setdefault(
                (id(capture.trace), slot),
                LaunchSource(capture.trace, np.full(len(trace.ops), NOTHING, np.int64)),
            )
            is_found = places >= 0
            source.call_of_op[replay.ops[is_found]] = capture.rows[places[is_found]]
    return list(sources.values())


def _best(replay: Replay, captures: Sequence[Capture]) -> list[tuple[Capture, Places]]:
    """The captures that most ops of the replay fit, and of these the shortest ones."""
    fits = [(capture, capture.places_of(replay)) for capture in captures]
    ranks = [(-int(np.count_nonzero(places >= 0)), len(capture.rows)) for capture, places in fits]
    best = min(ranks, default=(0, 0))
    if best[0] == 0:
        return []
    found = [fit for fit, rank in zip(fits, ranks, strict=True) if rank == best]
    return found if len(found) <= MOST_CAPTURES else []


def _marked_captures(trace: Trace) -> list[Capture]:
    """What was launched between the begin and the end of each capture."""
    begins, ends = _named(trace, _BEGIN), _named(trace, _END)
    if not len(begins):
        return []
    calls, lanes = trace.calls, call_lanes(trace.calls)
    found: list[Capture] = []
    for lane, rows in _unlinked_launches(trace):
        lane_begins = np.sort(calls["end_ns"][begins[lanes[begins] == lane]])
        lane_ends = np.sort(calls["start_ns"][ends[lanes[ends] == lane]])
        found += _between(trace, rows, lane_begins.tolist(), lane_ends.tolist())
    return found


def _whole(trace: Trace) -> list[Capture]:
    """All launches that ran nothing, thread by thread: the trace began during a capture."""
    return [_capture(trace, rows) for _, rows in _unlinked_launches(trace)]


def _unlinked_launches(trace: Trace) -> Iterable[tuple[int, Numbers]]:
    """For each thread its launches that ran nothing, in order of time."""
    calls = trace.calls
    launches = _named(trace, _LAUNCH)
    is_linked = np.zeros(len(calls), np.bool_)
    is_linked[trace.derived(op_links).call_rows] = True
    launches = launches[~is_linked[launches]]
    launches = launches[np.argsort(calls["start_ns"][launches], kind="stable")]
    lanes = call_lanes(calls)[launches]
    for lane in np.unique(lanes).tolist():
        yield lane, launches[lanes == lane]


def _between(
    trace: Trace, rows: Numbers, begins: Sequence[int], ends: Sequence[int]
) -> Iterable[Capture]:
    """The launches between each begin and the next end; a capture that is cut off is none."""
    starts = trace.calls["start_ns"][rows]
    for begin in begins:
        end = next((each for each in ends if each >= begin), None)
        if end is not None:
            inside = rows[(starts >= begin) & (starts < end)]
            if len(inside):
                yield _capture(trace, inside)


def _capture(trace: Trace, rows: Numbers) -> Capture:
    documents, place = call_arguments(trace, rows)
    names = [trace.strings[int(code)] for code in trace.calls["name"][rows]]
    kernels = [documents[index].get("kernel") for index in place]
    tokens = tuple(_call_token(name, kernel) for name, kernel in zip(names, kernels, strict=True))
    return Capture(trace, rows, tokens, int(trace.calls["end_ns"][rows].max()))


def _call_token(name: str, kernel: object) -> str:
    if COPY in name:
        return COPY
    if FILL in name:
        return FILL
    return kernel if isinstance(kernel, str) else UNNAMED


def _named(trace: Trace, pattern: re.Pattern[str]) -> Numbers:
    if not len(trace.calls):
        return np.empty(0, np.int64)
    codes = trace.calls.code_counts("name").codes.tolist()
    wanted = [code for code in codes if pattern.match(trace.strings[code])]
    return np.flatnonzero(np.isin(trace.calls["name"], wanted))


def _replays(trace: Trace, launches: OpLaunches) -> Iterable[Replay]:
    ops = np.flatnonzero(launches.is_replayed & ~launches.is_joined)
    if not len(ops):
        return
    call = launches.sources[0].call_of_op[ops]
    order = np.lexsort((trace.ops["start_ns"][ops], call))
    ops, call = ops[order], call[order]
    cuts = np.flatnonzero(np.concatenate(([True], call[1:] != call[:-1], [True])))
    names, kinds, queues = trace.ops["name"], trace.op_kind, trace.ops["queue"]
    for first, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        rows = ops[first:stop]
        tokens = tuple(
            _op_token(trace.strings[int(names[row])], OpKind(int(kinds[row])))
            for row in rows.tolist()
        )
        start_ns = int(trace.calls["start_ns"][call[first]])
        yield Replay(rows, tokens, tuple(queues[rows].tolist()), start_ns)


def _op_token(name: str, kind: OpKind) -> str:
    if kind is OpKind.COPY:
        return COPY
    return FILL if kind is OpKind.FILL else name
