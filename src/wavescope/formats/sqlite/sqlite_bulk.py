"""Fills empty tables of a closed SQLite file from arrays, far faster than INSERT can.

The b-trees are built page by page behind the end of the file and become part of it at the end:
nothing is there before `close`, and nothing stays after `abort`.

Errors: ValueError for a table or an array that does not fit, OSError (a full disk) and
sqlite3.Error (a constraint, a locked file) from the file. Any error while appending aborts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from wavescope.closing import Closing, on_error
from wavescope.formats.sqlite.sqlite_page_writer import FilledTable, PageWriter, connect
from wavescope.formats.sqlite.sqlite_pages import ColumnValues
from wavescope.formats.sqlite.sqlite_table import Affinity, TableColumn, TableLayout, folded
from wavescope.formats.sqlite.text_column import TextColumn

__all__ = ["BulkDatabase", "BulkTable", "TextColumn"]

_NUMBERS_REFUSED = (Affinity.TEXT,)
_TEXT_REFUSED = (Affinity.INTEGER, Affinity.REAL, Affinity.NUMERIC)


class ClosingOrAborting(Closing):
    """`with thing:` keeps what was done when all went well, and undoes it after an error."""

    @abstractmethod
    def abort(self) -> None:
        """Undo everything; nothing happens once the thing is closed."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


class BulkDatabase(ClosingOrAborting):
    """A closed database file of which several empty tables are filled side by side.

    Leaving a `with` block closes it, or aborts it when an exception passes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        _require_fillable(path)
        self._is_open = True
        self._writer = PageWriter(path)

    def table(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        *,
        missing: Mapping[str, int | float] | None = None,
        rebuild_indexes: bool = False,
    ) -> BulkTable:
        """The empty table `name`, ready for rows; the arguments are those of BulkTable."""
        return BulkTable(self, name, columns, missing=missing, rebuild_indexes=rebuild_indexes)

    def close(self) -> None:
        """Makes every appended row part of the file; a second call does nothing."""
        if self._is_open:
            self._is_open = False
            self._writer.finish()

    def abort(self) -> None:
        """Leaves all tables empty; nothing happens once the database is closed."""
        if self._is_open:
            self._is_open = False
            self._writer.abort()

    def writer(self) -> PageWriter:
        """What gets rows into the file; ValueError once it is closed."""
        if not self._is_open:
            raise ValueError(f"{self.path} is closed")
        return self._writer


class BulkTable(ClosingOrAborting):
    """An empty rowid table that takes rows with strictly increasing rowids."""

    def __init__(
        self,
        target: Path | BulkDatabase,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        missing: Mapping[str, int | float] | None = None,
        rebuild_indexes: bool = False,
    ) -> None:
        """`columns` are those that every append brings; None leaves it to each append.

        `missing` gives by column the number that stands for NULL (NaN always does). A table with
        indexes is refused unless they are to be rebuilt at the end.
        """
        self._owns_database = isinstance(target, Path)
        self._database = BulkDatabase(target) if isinstance(target, Path) else target
        with on_error(self._give_up):
            layout = self._database.writer().layout(table)
            _require_plain(layout, rebuild_indexes=rebuild_indexes)
            self._database.writer().require_empty(layout)
            self._columns = None if columns is None else _known_names(layout, columns)
            self._table = FilledTable(layout, _known_missing(layout, missing or {}))
            self._database.writer().add_table(self._table)

    def append(self, columns: Mapping[str, ColumnValues]) -> None:
        """Adds rows: the rowid's column and any others, all of one length; the rest is NULL."""
        writer = self._database.writer()
        with on_error(self._database.abort):
            rowids, values = self._arrays(columns)
            if len(rowids):
                writer.append(self._table, rowids, values)
                self._table.last_rowid = int(rowids[-1])

    def close(self) -> None:
        """Makes the rows part of the file, unless a BulkDatabase is going to do so."""
        if self._owns_database:
            self._database.close()

    def abort(self) -> None:
        """Leaves the table, and all others of the same BulkDatabase, empty."""
        self._database.abort()

    def _give_up(self) -> None:
        """Leave nothing behind of a database that was opened for this table alone."""
        if self._owns_database:
            self._database.abort()

    def _arrays(
        self, columns: Mapping[str, ColumnValues]
    ) -> tuple[npt.NDArray[np.int64], list[ColumnValues | None]]:
        """The rowids, and one array or None for each column of the table."""
        layout = self._table.layout
        given = dict(zip(_known_names(layout, list(columns)), columns.values(), strict=True))
        if self._columns is not None and set(given) != set(self._columns):
            raise ValueError(f"{layout.name} is filled by {', '.join(self._columns)}")
        rowids = given.pop(_rowid_name(layout), None)
        if not isinstance(rowids, np.ndarray) or rowids.dtype.kind not in "iu":
            raise ValueError(f"{layout.name} needs whole numbers for its rowid")
        lengths = {len(values) for values in (rowids, *given.values())}
        if len(lengths) != 1:
            raise ValueError(f"columns of different lengths for {layout.name}")
        fitting = [
            _fitting(column, given[column.name]) if column.name in given else None
            for column in layout.columns
        ]
        return np.ascontiguousarray(_as_int64(rowids)), fitting


def _require_fillable(path: Path) -> None:
    """ValueError or sqlite3.Error unless pages can simply be appended to the file."""
    with closing(connect(path)) as connection:
        facts = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "auto_vacuum", "freelist_count", "encoding")
        }
        wanted = {"auto_vacuum": 0, "freelist_count": 0, "encoding": "UTF-8"}
        wrong = [f"{name} is {facts[name]}" for name in wanted if facts[name] != wanted[name]]
        if facts["journal_mode"] == "wal":
            wrong.append("journal_mode is wal")
        if wrong:
            raise ValueError(f"{path} cannot be filled: {', '.join(wrong)}")
        # Nobody else may be reading or writing, and no journal may be waiting to be rolled back.
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")


def _require_plain(layout: TableLayout, *, rebuild_indexes: bool) -> None:
    """ValueError unless rows are all that filling the table would have to write."""
    obstacles = {
        "indexes": layout.has_indexes and not rebuild_indexes,
        "triggers": layout.has_triggers,
        "CHECK constraints": layout.has_checks,
        "generated columns": layout.has_generated_columns,
        "no rowid": layout.has_no_rowid,
    }
    found = [what for what, is_there in obstacles.items() if is_there]
    if found:
        raise ValueError(f"table {layout.name} has {' and '.join(found)}")


def _rowid_name(layout: TableLayout) -> str:
    return layout.rowid_column or "rowid"


def _known_names(layout: TableLayout, names: Sequence[str]) -> list[str]:
    """The table's own spelling of `names`; ValueError for others and for repeated ones."""
    known = {folded(column.name): column.name for column in layout.columns}
    known["rowid"] = _rowid_name(layout)
    unknown = [name for name in names if folded(name) not in known]
    if unknown:
        raise ValueError(f"table {layout.name} has no column {', '.join(unknown)}")
    found = [known[folded(name)] for name in names]
    if len(set(found)) != len(found):
        raise ValueError(f"a column of {layout.name} is given twice: {', '.join(names)}")
    return found


def _known_missing(
    layout: TableLayout, missing: Mapping[str, int | float]
) -> dict[str, int | float]:
    return dict(zip(_known_names(layout, list(missing)), missing.values(), strict=True))


def _fitting(column: TableColumn, values: ColumnValues) -> ColumnValues:
    """`values` in a type that the column would keep as it is; ValueError when there is none."""
    refused = _TEXT_REFUSED if isinstance(values, TextColumn) else _NUMBERS_REFUSED
    if column.affinity in refused:
        raise ValueError(f"column {column.name} is {column.affinity.value}: the values are not")
    if isinstance(values, TextColumn):
        return TextColumn(
            np.ascontiguousarray(values.blob, dtype=np.uint8),
            np.ascontiguousarray(values.offsets, dtype=np.int64),
            np.ascontiguousarray(values.nulls, dtype=np.bool_),
        )
    if values.ndim != 1:
        raise ValueError(f"column {column.name} needs a one-dimensional array")
    if values.dtype.kind == "f" or column.affinity is Affinity.REAL:
        return values.astype(np.float64, copy=False)
    return _as_int64(values)


def _as_int64(values: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    if values.dtype.kind not in "iub" or not np.can_cast(values.dtype, np.int64):
        raise ValueError(f"{values.dtype} is no type for whole numbers of 64 bits")
    return values.astype(np.int64, copy=False)
