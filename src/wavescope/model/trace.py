"""A trace in memory: tables of NumPy columns, loaded when they are first used.

trace = wavescope.open("trace.db")
trace.ops["start_ns"]                  # int64 array
trace.ops.load("gpu", "start_ns")      # several columns in one pass over the file
trace.ops.strings("name")              # decoded names, one per row
trace.ops.to_pandas()
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import CodeCounts, counted_codes
from wavescope.arrays.intervals import Intervals, lengths_ns
from wavescope.closing import Closing
from wavescope.model import columns as declared
from wavescope.model.columns import ColumnType, Table
from wavescope.model.op_kinds import op_classes, op_kinds
from wavescope.model.paths import bytes_at
from wavescope.model.progress import Notes
from wavescope.model.source import Batch, Derivation, TraceSource, read_columns, read_metadata
from wavescope.model.strings import StringTable

_Part = TypeVar("_Part")
ColumnLoader = Callable[[Sequence[str], Derivation | None], dict[str, Array]]
TextLoader = Callable[[npt.NDArray[np.int64]], list[str]]


class TraceTable:
    """One table of a trace: columns by name, all of one length."""

    def __init__(
        self, spec: Table, loader: ColumnLoader, strings: StringTable, texts: TextLoader
    ) -> None:
        self.spec = spec
        self.string_table = strings
        self._loader = loader
        self._texts = texts
        self._columns: dict[str, Array] = {}
        self._code_counts: dict[str, CodeCounts] = {}

    def load(self, *names: str) -> None:
        """Load several columns in one pass; those already loaded are kept."""
        missing = [name for name in names if name not in self._columns]
        for name in missing:
            self.spec.column(name)
        if missing:
            self._columns.update(self._loader(missing, None))

    def derive(self, names: Sequence[str], derive: Derivation, also: Sequence[str] = ()) -> None:
        """Keep what `derive` makes of columns, under the names it gives, but not the columns.

        They are read, and let go, batch by batch; the columns `also` are loaded in the same pass.
        """
        missing = [name for name in also if name not in self._columns]

        def kept(batch: Batch) -> Batch:
            return {**{name: batch[name] for name in missing}, **derive(batch)}

        self._columns.update(self._loader(list(dict.fromkeys((*missing, *names))), kept))

    def has(self, name: str) -> bool:
        """Whether a column is loaded or derived."""
        return name in self._columns

    @contextmanager
    def borrowed(self) -> Iterator[None]:
        """Columns that are first used inside are let go at the end: they may take much memory."""
        kept = set(self._columns)
        try:
            yield
        finally:
            self._columns = {name: self._columns[name] for name in self._columns if name in kept}

    def __getitem__(self, name: str) -> Array:
        self.load(name)
        return self._columns[name]

    def __len__(self) -> int:
        if not self._columns:
            self.load("start_ns" if "start_ns" in self.spec.column_names else self.column_names[0])
        return len(next(iter(self._columns.values())))

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.spec.column_names

    @property
    def duration_ns(self) -> npt.NDArray[np.int64]:
        """End minus start of each row."""
        self.load("start_ns", "end_ns")
        duration: npt.NDArray[np.int64] = self["end_ns"] - self["start_ns"]
        return duration

    def code_counts(self, name: str) -> CodeCounts:
        """The codes that occur in a STRING column and how often, counted once."""
        if name not in self._code_counts:
            assert self.spec.column(name).type is ColumnType.STRING
            self._code_counts[name] = counted_codes(self[name])
        return self._code_counts[name]

    def strings(self, name: str) -> list[str]:
        """A STRING or TEXT column as text, one string per row."""
        kind = self.spec.column(name).type
        if kind is ColumnType.STRING:
            return self.string_table.decode(self[name])
        if kind is ColumnType.TEXT:
            return self._texts(self[name])
        raise KeyError(f"column {name} of {self.spec.name} holds numbers")

    def take(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> TraceTable:
        """The given rows (indices or a mask) as a table that loads columns through this one."""

        def load(names: Sequence[str], derive: Derivation | None) -> dict[str, Array]:
            if derive is not None:
                made = self._loader(names, derive)
                return {name: values[rows] for name, values in made.items()}
            self.load(*names)
            return {name: self._columns[name][rows] for name in names}

        return TraceTable(self.spec, load, self.string_table, self._texts)

    def to_arrow(self, columns: Sequence[str] | None = None) -> Any:
        """A pyarrow Table: numbers without copying, names dictionary-encoded."""
        import pyarrow as pa  # noqa: PLC0415  optional and slow to import

        names = list(self.column_names if columns is None else columns)
        self.load(*names)
        return pa.table({name: self._arrow_column(name) for name in names})

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """A pandas DataFrame; names become categories, unknown integers stay -1."""
        import pandas as pd  # noqa: PLC0415  optional and slow to import

        names = list(self.column_names if columns is None else columns)
        self.load(*names)
        return pd.DataFrame({name: self._pandas_column(name) for name in names})

    def _arrow_column(self, name: str) -> Any:
        import pyarrow as pa  # noqa: PLC0415

        array = self[name]
        kind = self.spec.column(name).type
        if kind is ColumnType.STRING:
            codes = pa.array(array, mask=array < 0)
            return pa.DictionaryArray.from_arrays(codes, pa.array(list(self.string_table), "str"))
        return pa.array(self.strings(name)) if kind is ColumnType.TEXT else pa.array(array)

    def _pandas_column(self, name: str) -> Any:
        import pandas as pd  # noqa: PLC0415

        kind = self.spec.column(name).type
        if kind is ColumnType.STRING:
            return pd.Categorical.from_codes(self[name], list(self.string_table))
        return self.strings(name) if kind is ColumnType.TEXT else self[name]

    def _repr_html_(self) -> str:
        from wavescope.model.html import MOST_ROWS, rows_html  # noqa: PLC0415  only for notebooks

        shown = self.take(np.arange(min(len(self), MOST_ROWS)))
        shown.load(*self.column_names)
        columns = [
            [(text, False) for text in shown.strings(column.name)]
            if column.type in (ColumnType.STRING, ColumnType.TEXT)
            else [(str(value), True) for value in shown[column.name].tolist()]
            for column in self.spec.columns
        ]
        heads = [(column.name, column.meaning) for column in self.spec.columns]
        return rows_html(self.spec.name, heads, list(zip(*columns, strict=True)), len(self))

    def __repr__(self) -> str:
        return f"<{self.spec.name}: {len(self):,} rows>"


_TRIMMED_OPS = re.compile(r"(?:^|; )(?:kernel|pid|rank) ")


@dataclass(frozen=True)
class Surroundings:
    """The trace that another is a part of, and the times that the part is about."""

    whole: Trace
    window: Intervals | None
    """None: no time is left out."""
    hides_ops: bool
    """Whether ops that ran on the same GPUs at these times are left out."""


class Trace(Closing):
    """Tables of one trace; `select` gives a trace of fewer rows."""

    def __init__(
        self,
        source: TraceSource,
        tables: dict[str, TraceTable] | None = None,
        part_of: Surroundings | None = None,
    ) -> None:
        self.source = source
        self.part_of = part_of
        """What this trace was selected from; None for a whole one."""
        self._tables = tables or {}
        self._derived: dict[Callable[[Trace], Any], Any] = {}

    def table(self, spec: Table) -> TraceTable:
        """The table declared as `spec`."""
        if spec.name not in self._tables:
            self._tables[spec.name] = TraceTable(
                spec,
                lambda names, derive: read_columns(self.source, spec, names, derive),
                self.source.strings,
                self.source.texts,
            )
        return self._tables[spec.name]

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def size_bytes(self) -> int:
        """Bytes of its file, or of all files in its folder."""
        return bytes_at(Path(self.path))

    @property
    def format(self) -> str:
        return self.source.format

    @property
    def strings(self) -> StringTable:
        return self.source.strings

    @property
    def notes(self) -> Notes:
        """What the reader skipped or repaired."""
        return self.source.notes

    @property
    def ops(self) -> TraceTable:
        return self.table(declared.OPS)

    @property
    def markers(self) -> TraceTable:
        return self.table(declared.MARKERS)

    @property
    def calls(self) -> TraceTable:
        return self.table(declared.CALLS)

    @property
    def links(self) -> TraceTable:
        return self.table(declared.LINKS)

    @property
    def processes(self) -> TraceTable:
        return self.table(declared.PROCESSES)

    @property
    def agents(self) -> TraceTable:
        return self.table(declared.AGENTS)

    @property
    def kernels(self) -> TraceTable:
        return self.table(declared.KERNELS)

    @property
    def coverage(self) -> TraceTable:
        return self.table(declared.COVERAGE)

    @property
    def slices(self) -> TraceTable:
        """Times at which every kernel was recorded; none where that was so all the time."""
        return self.table(declared.SLICES)

    @property
    def counters(self) -> TraceTable:
        return self.table(declared.COUNTERS)

    @cached_property
    def metadata(self) -> dict[str, str]:
        """Facts of the run by tag."""
        return read_metadata(self.source)

    @property
    def lacks_ops(self) -> bool:
        """Whether the file itself was trimmed to some kernels or processes: others ran, too."""
        return bool(_TRIMMED_OPS.search(self.metadata.get("selection", "")))

    @property
    def hides_ops(self) -> bool:
        """Whether a filter, of now or of the file, leaves out ops that ran at the same times."""
        return self.lacks_ops or (self.part_of is not None and self.part_of.hides_ops)

    @cached_property
    def op_kind(self) -> npt.NDArray[np.int8]:
        """The `OpKind` of each op."""
        return op_kinds(self.strings, self.ops["type"], self.ops.code_counts("type"))

    @cached_property
    def op_length_ns(self) -> Array:
        """End minus start of each op, in 32 bits if all fit."""
        self.ops.load("start_ns", "end_ns")
        return lengths_ns(self.ops["start_ns"], self.ops["end_ns"])

    @cached_property
    def op_class(self) -> npt.NDArray[np.int8]:
        """The `OpClass` of each op: compute, communication or copy."""
        self.ops.load("type", "name")
        return op_classes(
            self.strings,
            self.ops["type"],
            self.ops["name"],
            self.ops.code_counts("type"),
            self.ops.code_counts("name"),
        )

    def derived(self, derive: Callable[[Trace], _Part]) -> _Part:
        """What `derive` makes of this trace, made once: `trace.derived(gpu_timelines)`.

        That is how analyses share their work: none need know which of them runs first.
        """
        if derive not in self._derived:
            self._derived[derive] = derive(self)
        part: _Part = self._derived[derive]
        return part

    @property
    def whole(self) -> Trace:
        """The trace that this one was selected from, itself where it was not."""
        return self if self.part_of is None else self.part_of.whole

    def with_tables(
        self, tables: Iterable[TraceTable], part_of: Surroundings | None = None
    ) -> Trace:
        """This trace with some tables replaced; a part stays one, of `part_of` if given."""
        replaced = {**self._tables, **{t.spec.name: t for t in tables}}
        return Trace(self.source, replaced, part_of or self.part_of)

    def close(self) -> None:
        """Release the file; columns already loaded stay usable."""
        self.source.close()

    def forget(self) -> None:
        """Release the file, and at once all columns and what was derived of them.

        A trace and its tables know each other, so that they would stay until Python looks for such
        circles: too long where one trace after the other is read.
        """
        self.close()
        self._tables.clear()
        self._derived.clear()

    def __repr__(self) -> str:
        return f"<Trace {self.path} ({self.format}): {len(self.ops):,} ops>"
