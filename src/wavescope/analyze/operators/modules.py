"""GPU time by module: the path of modules around a launch, in backward passes of its forward call.

PyTorch's profiler writes modules as Python functions named `nn.Module: Linear_3`. Where there are
none, what `with_modules` records with operators counts, else the annotations that are open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from wavescope.analyze.calls.call_inputs import call_records
from wavescope.analyze.calls.call_tree import NO_CALL, nearest_marked, parent_calls
from wavescope.analyze.calls.forward_calls import nearest_or_forward
from wavescope.analyze.calls.outermost import operator_rows
from wavescope.analyze.markers import trace_ranges
from wavescope.analyze.operators.attribution import (
    NOTHING,
    TIME_COLUMNS,
    Attributed,
    Described,
    Label,
    ListedOps,
    Numbers,
    OpLaunches,
    attributed,
    time_by_label,
)
from wavescope.arrays.coded_columns import distinct
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace

NO_MODULE = "(outside any module)"
_PREFIX = "nn.Module: "
_SEPARATOR = " > "
_INSTANCE = re.compile(r"_\d+$")
_STEP = re.compile(r"^ProfilerStep")
_HIERARCHY_PART = re.compile(r"(\w+)\((\w*)\)::\w+")
_COLUMNS = (
    ResultColumn("module", "Module", Unit.NAME, "modules around the launch, the outermost first"),
    ResultColumn("nested_ns", "With nested", Unit.NS, "total of it and of all modules inside it"),
    *TIME_COLUMNS,
)


def module_tables(launches: OpLaunches, ops: ListedOps) -> list[ResultTable]:
    """Tables `modules`, of each instance, and `module_classes`, of those of a kind together."""
    found = attributed(launches, modules, NO_MODULE)
    if all(len(label) == 1 and label[0].startswith("(") for label in found.labels):
        return []
    return [
        _module_table("modules", "Modules", found, ops),
        _module_table("module_classes", "Modules of a kind together", _by_class(found), ops),
    ]


def modules(trace: Trace, rows: Numbers) -> Described[Label]:
    """The path of modules around each call."""
    if not len(trace.calls):
        return Described.nothing(len(rows))
    codes = _module_codes(trace)
    if codes:
        return _module_calls(trace, rows, codes)
    hierarchy = _recorded_hierarchy(trace, rows)
    return hierarchy if hierarchy.labels else _annotations(trace, rows)


def recorded_modules(trace: Trace, rows: Numbers) -> Described[Label]:
    """The path of modules around each call where modules are no calls themselves."""
    if not len(trace.calls) or _module_codes(trace):
        return Described.nothing(len(rows))
    return _recorded_hierarchy(trace, rows)


def module_kind(name: str) -> str:
    """The name of a call, of a module without the number of its instance."""
    return _INSTANCE.sub("", name) if name.startswith(_PREFIX) else name


def _module_codes(trace: Trace) -> list[int]:
    """The codes of the names of calls that are modules."""
    names = trace.calls.code_counts("name").codes.tolist()
    return [code for code in names if trace.strings[code].startswith(_PREFIX)]


def _module_calls(trace: Trace, rows: Numbers, codes: list[int]) -> Described[Label]:
    calls, parent = trace.calls, parent_calls(trace)
    is_module = np.isin(calls["name"], codes)
    found = nearest_or_forward(trace, rows, is_module)
    module_rows = np.flatnonzero(is_module)
    outer_of = dict(
        zip(
            module_rows.tolist(),
            nearest_marked(parent, is_module, parent[module_rows]).tolist(),
            strict=True,
        )
    )
    name_of = {code: trace.strings[code].removeprefix(_PREFIX) for code in codes}
    names = calls["name"]
    paths: dict[int, Label] = {NO_CALL: ()}

    def path(row: int) -> Label:
        chain = []
        while row not in paths:
            chain.append(row)
            row = outer_of[row]
        for each in reversed(chain):
            paths[each] = (*paths[outer_of[each]], name_of[int(names[each])])
        return paths[chain[0] if chain else row]

    return Described.by_label([path(row) or None for row in found.tolist()], found)


def _recorded_hierarchy(trace: Trace, rows: Numbers) -> Described[Label]:
    """The modules that the innermost operator around each call is recorded with."""
    is_operator = np.zeros(len(trace.calls), np.bool_)
    is_operator[operator_rows(trace)] = True
    found = nearest_marked(parent_calls(trace), is_operator, rows)
    inside = found >= 0
    records, record_of_call = call_records(trace, found[inside])
    used, use_of_call = distinct(record_of_call)
    labels = [_hierarchy_path(records[number].module_hierarchy) for number in used]
    of_uses = Described.by_label(labels, np.array(used, np.int64))
    code = np.full(len(found), NOTHING, np.int64)
    code[inside] = of_uses.code[use_of_call]
    return Described(of_uses.labels, code, np.where(code >= 0, found, NO_CALL))


def _hierarchy_path(text: str) -> Label | None:
    """The modules of `top(Net)::forward.layer(Linear)::forward`."""
    return tuple(f"{name}({kind})" for name, kind in _HIERARCHY_PART.findall(text)) or None


def _annotations(trace: Trace, rows: Numbers) -> Described[Label]:
    """The annotations around each call."""
    ranges = trace_ranges(trace).host
    if not len(ranges):
        return Described.nothing(len(rows))
    calls = trace.calls
    lanes = ranges.lanes_of(calls["process"][rows], calls["thread"][rows])
    found = ranges.by_thread.range_at(calls["start_ns"][rows], lanes)
    parent = ranges.nesting.parent
    paths: dict[int, Label | None] = {NO_CALL: None}
    for each in np.unique(found[found >= 0]).tolist():
        chain, row = [], each
        while row >= 0:
            chain.append(trace.strings[int(ranges.names[row])])
            row = int(parent[row])
        paths[each] = tuple(name for name in reversed(chain) if not _STEP.match(name)) or None
    return Described.by_label([paths[row] for row in found.tolist()], found)


def _by_class(found: Attributed[Label]) -> Attributed[Label]:
    """The same by paths without the numbers of instances."""
    numbers: dict[Label, int] = {}
    number_of = [
        numbers.setdefault(tuple(_INSTANCE.sub("", part) for part in label), len(numbers))
        for label in found.labels
    ]
    return Attributed(list(numbers), np.array(number_of, np.int64)[found.code], found.call)


def _module_table(name: str, title: str, found: Attributed[Label], ops: ListedOps) -> ResultTable:
    own = dict(time_by_label(found, ops))
    nested_ns: dict[Label, int] = {}
    for label, values in own.items():
        for outer in _and_outer(label):
            nested_ns[outer] = nested_ns.get(outer, 0) + int(values[2] or 0)
    nothing: tuple[Value, ...] = (None, 0, 0, 0.0, None, None)
    rows: list[tuple[Value, ...]] = [
        (_SEPARATOR.join(label), total_ns, *own.get(label, nothing))
        for label, total_ns in sorted(nested_ns.items(), key=lambda item: (-item[1], item[0]))
    ]
    return ResultTable(name, title, _COLUMNS, rows)


def _and_outer(label: Label) -> Iterable[Label]:
    return (label[:length] for length in range(1, len(label) + 1))
