"""The tables of a trace file in SQLite, derived from the declared tables of a trace."""

from __future__ import annotations

from wavescope.model.columns import TABLES


def declared_tables() -> dict[str, dict[str, str]]:
    """Every declared table of a file: its columns in order, with their SQL types."""
    tables: dict[str, dict[str, str]] = {}
    for table in TABLES:
        for name, key in table.keys:
            columns = tables.setdefault(name, {key: "INTEGER PRIMARY KEY"})
            for column in table.columns_in(name):
                columns.setdefault(column.stored_as, column.sql_type)
    return tables
