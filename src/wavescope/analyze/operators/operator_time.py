"""GPU time by operator, module, input shapes and call site; docs/operators.md defines them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wavescope.analyze.calls.outermost import (
    NO_OPERATOR,
    inferred,
    op_sequence,
    outermost_operators,
    with_all_calls,
)
from wavescope.analyze.operators.attribution import (
    GRAPH_REPLAY,
    NOT_RECORDED,
    Attributed,
    Described,
    Label,
    ListedOps,
    Numbers,
    OpLaunches,
    attributed,
    op_launches,
    time_table,
)
from wavescope.analyze.ops.op_labels import op_labels
from wavescope.analyze.ops.op_links import rows_of_ids
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import distinct
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import short_name


class OperatorPart(str, enum.Enum):
    """What GPU time is added up by."""

    OPERATOR = "operator"
    """The outermost operator around the launch."""
    MODULE = "module"
    """The path of modules around the launch, in backward passes around the forward call."""
    SHAPE = "shape"
    """The innermost operator whose inputs are recorded, with their shapes and types."""
    SITE = "site"
    """The innermost Python function outside the framework."""


@dataclass(frozen=True)
class OperatorOptions:
    """By what to add up, and where graphs were captured."""

    parts: tuple[OperatorPart, ...] = (OperatorPart.OPERATOR,)
    captures: tuple[Trace, ...] = ()
    """Traces in which the graphs that this trace replays were captured."""


def operators_result(
    trace: Trace, listed: Array | None = None, options: OperatorOptions | None = None
) -> Result:
    """A table for each part, and as facts how the time divides; nothing without operators.

    `listed` are the rows of the ops that count, all by default.
    """
    options, trace = options or OperatorOptions(), with_all_calls(trace)
    if outermost_operators(trace) is None and not options.captures:
        return Result("Operators")
    launches = joined_launches(trace, options.captures)
    ops = ListedOps.of(trace, listed)
    operators = attributed(launches, _outermost, NO_OPERATOR)
    tables: list[ResultTable] = []
    facts = _facts(operators, launches, ops)
    for part in options.parts:
        if part is OperatorPart.OPERATOR:
            found = _with_inferred(trace, operators)
            facts["inferred_operator_ns"] = ops.sum_ns(found.code != operators.code)
            tables.append(time_table("operators", "Operators", _COLUMNS, found, ops))
        else:
            tables += _part_tables(part, launches, ops)
    return Result("Operators", tables, facts=facts)


@dataclass(frozen=True)
class OpOperators:
    """For each op the number of its operator, or of a reason why it has none, among `names`."""

    names: list[str]
    of_op: Numbers
    linked_count: int
    inferred_count: int
    replayed_count: int
    joined_count: int
    """Of the replayed ones those whose launch was found where their graph was captured."""


def op_operators(
    trace: Trace, rows: Array | None = None, captures: Sequence[Trace] = ()
) -> OpOperators | None:
    """The operators of the ops at `rows` (None: all); None when nothing can tell any."""
    trace = with_all_calls(trace)
    has_operators = outermost_operators(trace) is not None
    if not has_operators and not captures:
        return None
    launches = joined_launches(trace, captures)
    if not has_operators and not launches.is_replayed.any():
        return None
    found = attributed(launches, _outermost, NO_OPERATOR)
    chosen = slice(None) if rows is None else rows
    linked, known = found.code[chosen], _with_inferred(trace, found).code[chosen]
    unknown = found.labels.index((NOT_RECORDED,))
    return OpOperators(
        [label[0] for label in found.labels],
        known,
        int(np.count_nonzero(linked != unknown)),
        int(np.count_nonzero(linked != known)),
        int(np.count_nonzero(launches.is_replayed[chosen])),
        int(np.count_nonzero(launches.is_joined[chosen])),
    )


_COLUMNS = (ResultColumn("name", "Operator", Unit.NAME, "outermost operator around the launch"),)


def joined_launches(trace: Trace, captures: Sequence[Trace] = ()) -> OpLaunches:
    """The launches of all ops, those of graph replays where their graph was captured.

    Graphs were captured in the trace itself, which has all its calls, or in `captures`.
    """
    launches = op_launches(trace)
    if not launches.is_replayed.any():
        return launches
    # A part of a replay fits no capture: whole replays are joined, then the part is taken.
    whole = trace.whole
    joined = _joined_to(whole, captures) if captures else whole.derived(_joined_to)
    if whole is trace:
        return joined
    rows, _ = rows_of_ids(whole.ops["id"], trace.ops["id"])
    return joined.of_ops(rows)


def _joined_to(trace: Trace, captures: Sequence[Trace] = ()) -> OpLaunches:
    # Few traces replay graphs: what joins them is imported for these only.
    from wavescope.analyze.operators.graph_captures import captured_launches  # noqa: PLC0415
    from wavescope.analyze.operators.graph_nodes import launches_of_nodes  # noqa: PLC0415

    launches = op_launches(trace)
    launches = launches.with_captured(launches_of_nodes(trace, launches, captures))
    return launches.with_captured(captured_launches(trace, launches, captures))


def _part_tables(part: OperatorPart, launches: OpLaunches, ops: ListedOps) -> list[ResultTable]:
    """The tables of a part that a summary does not show unless asked."""
    if part is OperatorPart.SHAPE:
        from wavescope.analyze.operators.shapes import shape_tables  # noqa: PLC0415

        return shape_tables(launches, ops)
    if part is OperatorPart.MODULE:
        from wavescope.analyze.operators.modules import module_tables  # noqa: PLC0415

        return module_tables(launches, ops)
    from wavescope.analyze.operators.call_sites import site_tables  # noqa: PLC0415

    return site_tables(launches, ops)


def _outermost(trace: Trace, rows: Numbers) -> Described[Label]:
    """The outermost operator around each call."""
    outer = outermost_operators(trace)
    if outer is None:
        return Described.nothing(len(rows))
    place = outer.around(trace.calls, rows)
    codes, name_of_place = distinct(trace.calls["name"][outer.rows])
    inside = place >= 0
    place = np.maximum(place, 0)
    return Described(
        [(trace.strings[code],) for code in codes],
        np.where(inside, name_of_place[place].astype(np.int64), -1),
        np.where(inside, outer.rows[place], -1),
    )


def _facts(found: Attributed[Label], launches: OpLaunches, ops: ListedOps) -> dict[str, Value]:
    """How the time of the listed ops divides: the four parts add up to all of it."""
    of_reason = {
        name: ops.sum_ns(found.code == found.labels.index((reason,)))
        for name, reason in (
            ("outside_operator_ns", NO_OPERATOR),
            ("graph_replay_ns", GRAPH_REPLAY),
            ("unlinked_ns", NOT_RECORDED),
        )
    }
    everything = ops.sum_ns(np.ones(len(found.code), np.bool_))
    facts: dict[str, Value] = {"operator_ns": everything - sum(of_reason.values()), **of_reason}
    if launches.is_replayed.any():
        facts["replayed_ns"] = ops.sum_ns(launches.is_replayed)
        facts["joined_graph_replay_ns"] = ops.sum_ns(launches.is_joined)
    return facts


def _with_inferred(trace: Trace, found: Attributed[Label]) -> Attributed[Label]:
    """`found` with the operators that launched the same kernels elsewhere."""
    unknown = found.labels.index((NOT_RECORDED,))
    working = np.flatnonzero(trace.op_kind != OpKind.BARRIER)
    code = found.code[working]
    is_unknown = code == unknown
    if not is_unknown.any() or is_unknown.all():
        return found
    table = trace.ops.take(working)
    labels = op_labels(trace, table)
    shown, place = np.unique([short_name(text) for text in labels.texts], return_inverse=True)
    sequence = op_sequence(table, labels.for_each_op(place), len(shown))
    filled = inferred(code, sequence, unknown)
    reasons = [found.labels.index((reason,)) for reason in (NO_OPERATOR, GRAPH_REPLAY)]
    whole = found.code.copy()
    whole[working] = np.where(is_unknown & np.isin(filled, reasons), unknown, filled)
    return Attributed(found.labels, whole, found.call)
