"""What an analysis gives back: named tables with typed columns, and findings.

One JSON shape for all commands, versioned by `RESULT_SCHEMA`; docs/json.md explains it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from wavescope.units import value_text

RESULT_SCHEMA = "wavescope.result/1"

Value = str | int | float | bool | None
_Item = TypeVar("_Item")
_Item_contra = TypeVar("_Item_contra", contravariant=True)


class Unit(str, enum.Enum):
    """How a result column is to be read; renderers choose the spelling."""

    NONE = ""
    NAME = "name"
    COUNT = "count"
    NS = "ns"
    BYTES = "bytes"
    GB_PER_S = "GB/s"
    PERCENT = "%"
    TIME = "timestamp_ns"


class ResultColumn(NamedTuple):
    """A column of a result table: `name` is stable, `title` is for people."""

    name: str
    title: str
    unit: Unit = Unit.NONE
    meaning: str = ""

    def of(self, value: Callable[[_Item], Value]) -> ColumnOf[_Item]:
        """This column with the way to its value: what `table_of` is given."""
        return ColumnOf(self, value)


@dataclass(frozen=True)
class ColumnOf(Generic[_Item_contra]):
    """A column and how an item's value in it is found: neither is matched by position."""

    column: ResultColumn
    value: Callable[[_Item_contra], Value]


@dataclass(frozen=True)
class ResultTable:
    """Rows of plain Python values in the order worth reading."""

    name: str
    title: str
    columns: tuple[ResultColumn, ...]
    rows: Sequence[tuple[Value, ...]] = field(default_factory=list)
    total_rows: int | None = None
    """How many rows there are when `rows` holds only the first of them."""
    is_whole: bool = False
    """Whether the rows mean something together only, as those of a sum do: none is left out."""

    def column(self, name: str) -> list[Value]:
        """All values of one column."""
        index = [column.name for column in self.columns].index(name)
        return [row[index] for row in self.rows]

    def records(self) -> list[dict[str, Value]]:
        """The rows as dictionaries by column name."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def head(self, count: int) -> ResultTable:
        """The first `count` rows, remembering how many there were."""
        total = self.total_rows if self.total_rows is not None else len(self.rows)
        return replace(self, rows=self.rows[:count], total_rows=total)

    def with_rows(self, rows: Iterable[tuple[Value, ...]]) -> ResultTable:
        """This table with other rows, all of them."""
        return replace(self, rows=list(rows), total_rows=None)

    def with_only_columns(self, names: Collection[str]) -> ResultTable:
        """This table with those of its columns whose names are in `names`."""
        kept = [index for index, column in enumerate(self.columns) if column.name in names]
        return replace(
            self,
            columns=tuple(self.columns[index] for index in kept),
            rows=[tuple(row[index] for index in kept) for row in self.rows],
        )

    def to_pandas(self) -> Any:
        """A pandas DataFrame of the rows."""
        import pandas  # noqa: PLC0415  optional and slow to import

        return pandas.DataFrame(self.rows, columns=[column.name for column in self.columns])

    def _repr_html_(self) -> str:
        from wavescope.model.html import MOST_ROWS, rows_html  # noqa: PLC0415  only for notebooks

        cells = [
            [_html_cell(column, value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows[:MOST_ROWS]
        ]
        heads = [(column.title, column.meaning) for column in self.columns]
        total = len(self.rows) if self.total_rows is None else self.total_rows
        return rows_html(self.title, heads, cells, total)


def table_of(
    name: str,
    title: str,
    columns: Sequence[ColumnOf[_Item]],
    items: Iterable[_Item],
    total_rows: int | None = None,
) -> ResultTable:
    """One row for each of `items`, its values found as each column says."""
    values = [column.value for column in columns]
    rows = [tuple(value(item) for value in values) for item in items]
    return ResultTable(name, title, tuple(column.column for column in columns), rows, total_rows)


class Severity(str, enum.Enum):
    """How much a finding matters."""

    INFO = "info"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(NamedTuple):
    """One conclusion with its evidence and what to do about it."""

    id: str
    severity: Severity
    title: str
    evidence: str
    suggestion: str = ""
    where: str = ""
    gain_percent: float | None = None
    """Of the time of `where`, at most: what is gained when the cause is gone entirely."""
    gain_basis: str = ""
    """How the gain was estimated."""
    sql: str = ""
    """A query on the trace file that shows the evidence."""
    numbers: Mapping[str, Value] = MappingProxyType({})
    """The evidence for programs: figures, and ids of the ops or rows that show it best."""


@dataclass(frozen=True, repr=False)
class Result:
    """Tables and findings of one analysis or command; `with_...` give others, it stays itself."""

    title: str
    tables: Sequence[ResultTable] = field(default_factory=list)
    findings: Sequence[Finding] = field(default_factory=list)
    facts: Mapping[str, Value] = field(default_factory=dict)
    """Single values such as the path or the number of ops."""

    def table(self, name: str) -> ResultTable:
        """The table called `name`."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"no table {name}; there are {[table.name for table in self.tables]}")

    def with_tables(self, *tables: ResultTable) -> Result:
        """This result with `tables` after its own."""
        return replace(self, tables=[*self.tables, *tables])

    def with_only_tables(self, tables: Iterable[ResultTable]) -> Result:
        """This result with `tables` in place of its own."""
        return replace(self, tables=list(tables))

    def with_findings(self, findings: Iterable[Finding]) -> Result:
        """This result with `findings` after its own."""
        return replace(self, findings=[*self.findings, *findings])

    def with_facts(self, facts: Mapping[str, Value]) -> Result:
        """This result with `facts` added; they replace those of the same name."""
        return replace(self, facts={**self.facts, **facts})

    def with_origin(self, first_ns: Callable[[], int]) -> Result:
        """This result with the time of the trace's first event, where it has points in time."""
        has_times = any(
            table.rows and any(column.unit is Unit.TIME for column in table.columns)
            for table in self.tables
        )
        return self.with_facts({"first_timestamp_ns": first_ns()}) if has_times else self

    def with_parts(self, others: Iterable[Result]) -> Result:
        """This result with the tables, findings and facts of `others` after its own."""
        parts = [self, *others]
        return replace(
            self,
            tables=[table for part in parts for table in part.tables],
            findings=[finding for part in parts for finding in part.findings],
            facts={name: value for part in parts for name, value in part.facts.items()},
        )

    def to_json(self) -> dict[str, Any]:
        """The versioned JSON form: plain dictionaries and lists."""
        return {
            "schema": RESULT_SCHEMA,
            "title": self.title,
            "facts": dict(self.facts),
            "tables": [_table_json(table) for table in self.tables],
            "findings": [_finding_json(finding) for finding in self.findings],
        }

    def __repr__(self) -> str:
        rows = ", ".join(f"{table.name} ({len(table.rows):,} rows)" for table in self.tables)
        return f"<Result {self.title}: {rows or 'no tables'}; {len(self.findings)} findings>"

    def _repr_html_(self) -> str:
        from wavescope.model.html import findings_html, titled_html  # noqa: PLC0415  for notebooks

        tables = "".join(table._repr_html_() for table in self.tables if table.rows)
        told = [(each.title, each.evidence, each.suggestion) for each in self.findings]
        return titled_html(self.title, tables + findings_html(told))


def _html_cell(column: ResultColumn, value: Value) -> tuple[str, bool]:
    """The value as text in the column's unit, and whether it is a number."""
    return value_text(value, column.unit.value), not isinstance(value, str | bool)


def _table_json(table: ResultTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "columns": [
            {
                "name": column.name,
                "title": column.title,
                "unit": column.unit.value,
                "meaning": column.meaning,
            }
            for column in table.columns
        ],
        "rows": [list(row) for row in table.rows],
        "total_rows": len(table.rows) if table.total_rows is None else table.total_rows,
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return finding._asdict() | {
        "severity": finding.severity.value,
        "numbers": dict(finding.numbers),
    }
