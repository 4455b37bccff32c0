"""What an analysis gives back: named tables with typed columns, and findings.

One JSON shape for all commands, versioned by `RESULT_SCHEMA`; docs/json.md explains it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

RESULT_SCHEMA = "wavescope.result/1"

Value = str | int | float | bool | None


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


@dataclass
class ResultTable:
    """Rows of plain Python values in the order worth reading."""

    name: str
    title: str
    columns: tuple[ResultColumn, ...]
    rows: list[tuple[Value, ...]] = field(default_factory=list)
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
        return ResultTable(self.name, self.title, self.columns, self.rows[:count], total)

    def to_pandas(self) -> Any:
        """A pandas DataFrame of the rows."""
        import pandas  # noqa: PLC0415  optional and slow to import

        return pandas.DataFrame(self.rows, columns=[column.name for column in self.columns])

    def _repr_html_(self) -> str:
        from wavescope.model.html import table_html  # noqa: PLC0415  only notebooks need it

        return table_html(self)


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


@dataclass(repr=False)
class Result:
    """Tables and findings of one analysis or command."""

    title: str
    tables: list[ResultTable] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, Value] = field(default_factory=dict)
    """Single values such as the path or the number of ops."""

    def table(self, name: str) -> ResultTable:
        """The table called `name`."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"no table {name}; there are {[table.name for table in self.tables]}")

    def extend(self, others: Iterable[Result]) -> Result:
        """This result with the tables, findings and facts of `others` added."""
        for other in others:
            self.tables.extend(other.tables)
            self.findings.extend(other.findings)
            self.facts.update(other.facts)
        return self

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
        from wavescope.model.html import result_html  # noqa: PLC0415  only notebooks need it

        return result_html(self)


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
