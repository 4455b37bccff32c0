"""The uses of operators in a trace: how often, how long, how much work, how near to the peak.

A use is an operator with one set of arguments on one kind of board; its time is that of the
kernels that its calls launched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze import operators
from wavescope.analyze.work.arguments import FP32, Arguments
from wavescope.analyze.work.attribution import ServedCalls, served_calls
from wavescope.analyze.work.call_roles import call_roles
from wavescope.analyze.work.formulas import FORMULAS
from wavescope.analyze.work.operator_work import OperatorWork
from wavescope.analyze.work.roofline import (
    HIGHEST_BELIEVED_PERCENT,
    Bound,
    Limit,
    shortest_time,
)
from wavescope.arrays.coded_columns import DistinctRows, different_rows
from wavescope.arrays.groups import group_sums
from wavescope.model.chips import Board, find_board
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

Rows = npt.NDArray[np.int64]

_SHORT_PRODUCTS = re.compile(r"tf32|xf32|s1688|nvjet|_S_MX_", re.IGNORECASE)
"""Kernels that multiply 32-bit numbers in 19 bits."""
TF32 = "tf32"
_LONGEST_MATCHED = 4_096


@dataclass(frozen=True)
class OperatorUse:
    """One operator with one set of arguments; `work` is of one call, None where unknown."""

    operator: str
    work: OperatorWork | None
    call_rows: tuple[int, ...]
    gpu_time_ns: int
    kernel_count: int
    kernels: tuple[str, ...]
    """The whole names of its kernels, the one with most of the time first."""
    data_type: str
    board: Board | None
    role: str = ""

    @property
    def calls(self) -> int:
        return len(self.call_rows)

    @property
    def flops(self) -> int | None:
        """Of all calls."""
        return None if self.work is None else self.calls * self.work.flops

    @property
    def bytes(self) -> int | None:
        """Of all calls."""
        return None if self.work is None else self.calls * self.work.bytes

    @property
    def tflops_per_s(self) -> float | None:
        return self.flops / self.gpu_time_ns / 1e3 if self.flops and self.gpu_time_ns else None

    @property
    def tb_per_s(self) -> float | None:
        return self.bytes / self.gpu_time_ns / 1e3 if self.bytes and self.gpu_time_ns else None

    @property
    def flops_per_byte(self) -> float | None:
        return self.flops / self.bytes if self.flops and self.bytes else None

    @cached_property
    def limit(self) -> Limit | None:
        """Of one call, at the board's peaks."""
        if self.work is None or self.board is None:
            return None
        return shortest_time(self.work, self.data_type, self.board)

    @property
    def bound(self) -> Bound | None:
        return None if self.limit is None else self.limit.bound

    @property
    def percent_of_peak(self) -> float | None:
        """The shortest time as a share of the time taken."""
        if self.limit is None or not self.gpu_time_ns:
            return None
        return 100 * self.calls * self.limit.time_ns / self.gpu_time_ns

    @property
    def is_believable(self) -> bool:
        """Whether its rate is one that the board can have."""
        percent = self.percent_of_peak
        return percent is None or percent <= HIGHEST_BELIEVED_PERCENT

    @property
    def above_roofline_ns(self) -> int | None:
        """The time beyond the shortest one, of all calls; None where it cannot be told."""
        if self.limit is None or not self.is_believable:
            return None
        return max(0, round(self.gpu_time_ns - self.calls * self.limit.time_ns))


@dataclass(frozen=True)
class OperatorUses:
    """The uses with most time first, and how much of the kernels' time they cover."""

    uses: Sequence[OperatorUse]
    kernel_time_ns: int
    """Of all kernels."""

    @property
    def modelled(self) -> list[OperatorUse]:
        """Those with figures."""
        return [use for use in self.uses if use.work is not None]

    @property
    def modelled_time_ns(self) -> int:
        return sum(use.gpu_time_ns for use in self.modelled)


def uses_of_operators(trace: Trace) -> OperatorUses:
    """All uses of operators that have a formula, roles left open."""
    ops = trace.ops
    ops.load("gpu", "name", "start_ns", "end_ns")
    is_kernel = trace.op_kind == OpKind.KERNEL
    kernel_time_ns = int(trace.op_length_ns[is_kernel].sum(dtype=np.int64))
    if not len(trace.calls) or not len(trace.links):
        return OperatorUses([], kernel_time_ns)
    served = served_calls(trace)
    if not len(served.op_rows):
        return OperatorUses([], kernel_time_ns)
    uses = _uses(trace, served)
    return OperatorUses(sorted(uses, key=lambda use: -use.gpu_time_ns), kernel_time_ns)


def uses_on_known_boards(trace: Trace) -> list[OperatorUse]:
    """The uses whose board is known; without one the calls need not be looked at."""
    if not any(gpu_boards(trace).values()):
        return []
    return [use for use in trace.derived(uses_of_operators).uses if use.board is not None]


def _uses(trace: Trace, served: ServedCalls) -> list[OperatorUse]:
    calls, call_of_kernel = np.unique(served.call_rows, return_inverse=True)
    kinds, kind_of_call = _call_kinds(trace, calls)
    boards, board_of_kernel = _boards(trace, served.op_rows)
    group = kind_of_call[call_of_kernel] * len(boards) + board_of_kernel
    groups, group_of_kernel = np.unique(group, return_inverse=True)
    times = group_sums(group_of_kernel, trace.op_length_ns[served.op_rows], len(groups))
    order = np.argsort(group_of_kernel, kind="stable")
    bounds = np.searchsorted(group_of_kernel[order], np.arange(len(groups) + 1)).tolist()
    found = []
    for number, key in enumerate(groups.tolist()):
        kernels = order[bounds[number] : bounds[number + 1]]
        found.append(
            _use(
                trace,
                kinds[key // len(boards)],
                boards[key % len(boards)],
                ServedCalls(served.op_rows[kernels], served.call_rows[kernels]),
                times[number],
            )
        )
    return found


class _CallKind(NamedTuple):
    operator: str
    work: OperatorWork | None
    role: str


def _call_kinds(trace: Trace, calls: Rows) -> tuple[list[_CallKind], Rows]:
    """The different operators with their work and role, and which of them each call is."""
    names = trace.calls["name"][calls]
    records, record_of_call = operators.call_records(trace, calls)
    use_of_call, firsts = DistinctRows(2).number((names, record_of_call))
    name_of_use = [trace.strings[name] for name in names[firsts].tolist()]
    work_of_use = [
        _work(name, records[number].inputs)
        for name, number in zip(name_of_use, record_of_call[firsts].tolist(), strict=True)
    ]
    roles = call_roles(trace, calls, work_of_use, use_of_call)
    known: dict[tuple[int, str], int] = {}
    number_of_call = [
        known.setdefault((use, roles.get(row, "")), len(known))
        for use, row in zip(use_of_call.tolist(), calls.tolist(), strict=True)
    ]
    kinds: dict[_CallKind, int] = {}
    kind_of_number = [
        kinds.setdefault(_CallKind(name_of_use[use], work_of_use[use], role), len(kinds))
        for use, role in known
    ]
    return list(kinds), np.array(kind_of_number, np.int64)[number_of_call]


def _work(operator: str, inputs: operators.RecordedInputs) -> OperatorWork | None:
    return FORMULAS[operator](Arguments(inputs)) if inputs.types else None


def _use(
    trace: Trace,
    kind: _CallKind,
    board: Board | None,
    served: ServedCalls,
    time_ns: int,
) -> OperatorUse:
    op_rows = served.op_rows
    names, place = np.unique(trace.ops["name"][op_rows], return_inverse=True)
    by_name = group_sums(place, trace.op_length_ns[op_rows], len(names))
    texts = [trace.strings[code] if code >= 0 else "" for code in names.tolist()]
    in_order = tuple(texts[place] for place in np.argsort(by_name)[::-1].tolist())
    return OperatorUse(
        kind.operator,
        kind.work,
        tuple(different_rows(served.call_rows, len(trace.calls)).tolist()),
        time_ns,
        len(op_rows),
        in_order,
        _data_type(kind.work, texts),
        board,
        kind.role,
    )


def _data_type(work: OperatorWork | None, kernels: Sequence[str]) -> str:
    """What the arithmetic is done in, which the names of kernels may tell better."""
    if work is None:
        return ""
    is_short = any(_SHORT_PRODUCTS.search(name[:_LONGEST_MATCHED]) for name in kernels)
    return (
        TF32 if work.kind.is_matrix and work.data_type == FP32.name and is_short else work.data_type
    )


def _boards(trace: Trace, op_rows: Rows) -> tuple[list[Board | None], Rows]:
    """The different boards, and which of them each kernel ran on."""
    gpus, of_kernel = np.unique(trace.ops["gpu"][op_rows], return_inverse=True)
    known = gpu_boards(trace)
    found: list[Board | None] = []
    for gpu in gpus.tolist():
        if known.get(gpu) not in found:
            found.append(known.get(gpu))
    place = np.array([found.index(known.get(gpu)) for gpu in gpus.tolist()], np.int64)
    return found, place[of_kernel]


def gpu_boards(trace: Trace) -> dict[int, Board | None]:
    """The board of each GPU, None where it is not known for sure."""
    agents = trace.agents
    if not len(agents):
        return {}
    agents.load("gpu", "model", "cu_count", "memory_bytes", "wave_size")
    columns = (agents[name].tolist() for name in ("gpu", "cu_count", "memory_bytes", "wave_size"))
    return {
        gpu: find_board(model, units, memory_bytes, wave)
        for model, gpu, units, memory_bytes, wave in zip(
            agents.strings("model"), *columns, strict=True
        )
    }
