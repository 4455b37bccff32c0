"""Reductions, scans and look-ups in tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

from wavescope.analyze.work.arguments import INT64, Arguments, DataType, Tensor
from wavescope.analyze.work.formulas.movement import moved
from wavescope.analyze.work.operator_work import Formula, OperatorWork, WorkKind


def _reduction(
    dims_at: int = 1, operations: int = 1, gives_index: bool = False, gives_value: bool = True
) -> Formula:
    """All elements read; one value, its place or both written for each that remains."""

    def formula(given: Arguments) -> OperatorWork | None:
        x = given.tensor(0)
        if x is None or given.tensor(1) is not None or not given.has_values:
            return None
        kept = _kept(x, given, dims_at)
        types: list[DataType] = [x.data_type] * gives_value
        # Without an axis, no place is given beside the value.
        has_axis = bool(given.text(dims_at))
        types += [INT64] * (gives_index and (has_axis or not gives_value))
        outputs = [Tensor((kept,), each) for each in types]
        return moved(WorkKind.REDUCTION, x, operations * x.elements, [x, *outputs])

    return formula


def _kept(x: Tensor, given: Arguments, dims_at: int) -> int:
    """How many values remain: one where no axes are named."""
    axes = given.numbers(dims_at)
    single = given.number(dims_at)
    named = axes if axes else (single,) if single is not None else ()
    if not named or not x.dims:
        return 1
    gone = {axis % len(x.dims) for axis in named if axis is not None}
    return math.prod(size for axis, size in enumerate(x.dims) if axis not in gone)


def _scan(given: Arguments) -> OperatorWork | None:
    x = given.tensor(0)
    if x is None:
        return None
    return moved(WorkKind.REDUCTION, x, x.elements, [x, Tensor(x.dims, x.data_type)])


def _rows_looked_up(table_at: int, indices_at: int) -> Formula:
    """One row of a table for each index: rows and indices read, rows written."""

    def formula(given: Arguments) -> OperatorWork | None:
        table, indices = given.tensor(table_at), given.tensor(indices_at)
        if table is None or indices is None or len(table.dims) != 2:
            return None
        rows = Tensor((indices.elements, table.dims[1]), table.data_type)
        return moved(WorkKind.EMBEDDING, table, 0, [indices, rows, rows])._replace(
            shape=f"{indices.elements} rows of {table.dims[0]}x{table.dims[1]}"
        )

    return formula


def _index_select(given: Arguments) -> OperatorWork | None:
    return _rows_looked_up(0, 2)(given) if given.number(1) == 0 else None


def _gather(given: Arguments) -> OperatorWork | None:
    """One element for each index."""
    source, indices = given.tensor(0), given.tensor(2)
    if source is None or indices is None:
        return None
    values = Tensor(indices.dims, source.data_type)
    return moved(WorkKind.EMBEDDING, source, 0, [indices, values, values])._replace(
        shape=f"{indices.elements} of {source.elements}"
    )


def _bags(given: Arguments) -> OperatorWork | None:
    """Rows of a table added up in bags."""
    table, indices, offsets = given.tensor(0), given.tensor(1), given.tensor(2)
    if table is None or indices is None or offsets is None or len(table.dims) != 2:
        return None
    width = table.dims[1]
    rows = Tensor((indices.elements, width), table.data_type)
    bags = Tensor((offsets.elements, width), table.data_type)
    return moved(WorkKind.EMBEDDING, table, rows.elements, [indices, offsets, rows, bags])._replace(
        shape=f"{indices.elements} rows in {offsets.elements} bags of {width}"
    )


def _dense_gradient(given: Arguments) -> OperatorWork | None:
    """The gradient of a whole table from those of the rows that were looked up."""
    gradient, indices, rows = given.tensor(0), given.tensor(1), given.number(2)
    if gradient is None or indices is None or not rows or not gradient.dims:
        return None
    table = Tensor((rows, gradient.dims[-1]), gradient.data_type)
    return moved(WorkKind.EMBEDDING, table, gradient.elements, [gradient, indices, table])


REDUCTION_FORMULAS: Mapping[str, Formula] = {
    "aten::sum": _reduction(),
    "aten::mean": _reduction(),
    "aten::prod": _reduction(),
    "aten::amax": _reduction(),
    "aten::amin": _reduction(),
    "aten::max": _reduction(gives_index=True),
    "aten::min": _reduction(gives_index=True),
    "aten::argmax": _reduction(gives_index=True, gives_value=False),
    "aten::argmin": _reduction(gives_index=True, gives_value=False),
    "aten::norm": _reduction(dims_at=2, operations=2),
    "aten::linalg_vector_norm": _reduction(dims_at=2, operations=2),
    "aten::var": _reduction(operations=4),
    "aten::std": _reduction(operations=4),
    "aten::cumsum": _scan,
    "aten::cumprod": _scan,
    "aten::embedding": _rows_looked_up(0, 1),
    "aten::index_select": _index_select,
    "aten::gather": _gather,
    "aten::_embedding_bag": _bags,
    "aten::embedding_dense_backward": _dense_gradient,
}
