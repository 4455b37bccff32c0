"""The uses of operators in a trace: how often, how long, how much work, how near to the peak.

A use is an operator with one set of arguments on one kind of board; its time is that of the
kernels that its calls launched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.analyze import operators
from wavescope.analyze.calls.outermost import with_all_calls
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.work.arguments import FP32
from wavescope.analyze.work.attribution import ServedCalls, served_calls
from wavescope.analyze.work.call_kinds import CallKind
from wavescope.analyze.work.operator_work import OperatorWork
from wavescope.analyze.work.roofline import (
    HIGHEST_BELIEVED_PERCENT,
    Bound,
    Limit,
    shortest_time,
)
from wavescope.arrays.coded_columns import different_values
from wavescope.arrays.groups import group_sums
from wavescope.model.chips.board_table import Board, find_board
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
    calls: int
    gpu_time_ns: int
    kernel_count: int
    kernels: tuple[str, ...]
    """The whole names of its kernels, the one with most of the time first."""
    data_type: str
    board: Board | None
    role: str = ""

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
    use_of_op: Rows
    """For each op the place of its use in `uses`, -1 where it has none."""
    call_of_op: Rows
    """For each op a number for the call that it serves, -1 where it serves none."""
    replayed_time_ns: int = 0
    """Of the kernels that graphs launched."""
    joined_time_ns: int = 0
    """Of those of them whose launch was found in a capture."""

    @property
    def modelled(self) -> list[OperatorUse]:
        """Those with figures."""
        return [use for use in self.uses if use.work is not None]

    @property
    def modelled_time_ns(self) -> int:
        return sum(use.gpu_time_ns for use in self.modelled)


def uses_of_operators(trace: Trace, captures: Sequence[Trace] = ()) -> OperatorUses:
    """All uses of operators that have a formula.

    What a graph replays is the use of the operators under which it was captured, in this trace or
    in `captures`. Of a sampled trace there are none.
    """
    trace = with_all_calls(trace)
    ops = trace.ops
    ops.load("gpu", "name", "start_ns", "end_ns")
    is_kernel = trace.op_kind == OpKind.KERNEL
    nothing = np.full(len(ops), -1, np.int64)
    # A slice cuts operators: with some of its kernels unseen one looks faster than it is.
    is_cut = recorded(trace) is not None
    if is_cut or not len(trace.calls) or not len(trace.links):
        return OperatorUses([], _sum_ns(trace, is_kernel), nothing, nothing)
    launches = operators.joined_launches(trace, captures)
    served = served_calls(trace, launches)
    groups, group_of_kernel = _groups(trace, served)
    in_groups = np.argsort(group_of_kernel, kind="stable")
    firsts = np.searchsorted(group_of_kernel[in_groups], np.arange(1, len(groups)))
    uses = [
        _use(trace, served, kernels, kind, board)
        for (kind, board), kernels in zip(groups, np.split(in_groups, firsts), strict=False)
    ]
    order = sorted(range(len(uses)), key=lambda number: -uses[number].gpu_time_ns)
    use_of_op, call_of_op = nothing.copy(), nothing.copy()
    use_of_op[served.op_rows] = np.argsort(np.array(order, np.int64))[group_of_kernel]
    call_of_op[served.op_rows] = served.call
    return OperatorUses(
        [uses[number] for number in order],
        _sum_ns(trace, is_kernel),
        use_of_op,
        call_of_op,
        _sum_ns(trace, is_kernel & launches.is_replayed),
        _sum_ns(trace, is_kernel & launches.is_joined),
    )


def uses_on_known_boards(trace: Trace) -> list[OperatorUse]:
    """The uses whose board is known; without one the calls need not be looked at."""
    if not any(gpu_boards(trace).values()):
        return []
    return [use for use in trace.derived(uses_of_operators).uses if use.board is not None]


def _sum_ns(trace: Trace, mask: npt.NDArray[np.bool_]) -> int:
    return int(trace.op_length_ns[mask].sum(dtype=np.int64))


def _groups(trace: Trace, served: ServedCalls) -> tuple[list[tuple[CallKind, Board | None]], Rows]:
    """The different kinds of calls on each board, and which of them each kernel is of."""
    boards, board_of_kernel = _boards(trace, served.op_rows)
    keys, group_of_kernel = np.unique(
        served.kind * max(1, len(boards)) + board_of_kernel, return_inverse=True
    )
    groups = [
        (served.kinds[key // len(boards)], boards[key % len(boards)]) for key in keys.tolist()
    ]
    return groups, group_of_kernel


def _use(
    trace: Trace, served: ServedCalls, chosen: Rows, kind: CallKind, board: Board | None
) -> OperatorUse:
    """The use that the `chosen` of the kernels are of."""
    lengths_ns = trace.op_length_ns[served.op_rows[chosen]]
    names, place = np.unique(trace.ops["name"][served.op_rows[chosen]], return_inverse=True)
    by_name = group_sums(place, lengths_ns, len(names))
    texts = [trace.strings[code] if code >= 0 else "" for code in names.tolist()]
    in_order = tuple(texts[place] for place in np.argsort(by_name)[::-1].tolist())
    return OperatorUse(
        kind.operator,
        kind.work,
        len(different_values(served.call[chosen])),
        sum(by_name),
        len(chosen),
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
