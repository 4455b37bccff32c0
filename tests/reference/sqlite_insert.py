"""Rows inserted by SQLite itself; see `PageWriter` and native/sqlite_pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.formats.sqlite.sqlite_open import quoted
from wavescope.formats.sqlite.sqlite_page_writer import FilledTable, connect
from wavescope.formats.sqlite.sqlite_pages import ColumnValues
from wavescope.formats.sqlite.sqlite_table import TableLayout, is_empty, table_layout
from wavescope.formats.sqlite.text_column import TextColumn


class InsertingWriter:
    """What `PageWriter` does, by inserting the rows in one transaction."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path)
        self._connection.execute("BEGIN")

    def layout(self, table: str) -> TableLayout:
        return table_layout(self._connection, table)

    def require_empty(self, layout: TableLayout) -> None:
        if not is_empty(self._connection, layout):
            raise ValueError(f"table {layout.name} has rows already")

    def add_table(self, table: FilledTable) -> None:
        """Nothing has to be prepared."""

    def append(
        self,
        table: FilledTable,
        rowids: npt.NDArray[np.int64],
        columns: Sequence[ColumnValues | None],
    ) -> None:
        goes_on = table.last_rowid is None or int(rowids[0]) > table.last_rowid
        if not goes_on or not (rowids[1:] > rowids[:-1]).all():
            raise ValueError(f"the rowids of {table.layout.name} do not increase")
        names, marks, lists = [table.layout.rowid_expression()], ["?"], [rowids.tolist()]
        for column, values in zip(table.layout.columns, columns, strict=True):
            if column.name == table.layout.rowid_column:
                continue
            names.append(quoted(column.name))
            if values is None:
                marks.append("NULL")
            else:
                marks.append("CAST(? AS TEXT)" if isinstance(values, TextColumn) else "?")
                lists.append(_python_values(values, table.missing.get(column.name)))
        self._connection.executemany(
            f"INSERT INTO main.{quoted(table.layout.name)} ({', '.join(names)})"
            f" VALUES ({', '.join(marks)})",
            zip(*lists, strict=True),
        )

    def finish(self) -> None:
        try:
            self._connection.execute("COMMIT")
        finally:
            self._connection.close()

    def abort(self) -> None:
        # Closing takes back what was not committed.
        self._connection.close()


def _python_values(values: ColumnValues, missing: int | float | None) -> list[Any]:
    if isinstance(values, TextColumn):
        nulls = values.nulls.tolist()
        pairs = zip(values.to_bytes_list(), nulls, strict=True)
        return [None if is_null else text for text, is_null in pairs]
    numbers: list[Any] = values.tolist()
    return numbers if missing is None else [None if n == missing else n for n in numbers]
