"""What a reader of table columns asks for."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ColumnKind(Enum):
    """How the values of a column come back: int64, float64, or text."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"


class ColumnRequest(NamedTuple):
    """One wanted column; `rowid` is always the rowid.

    `missing` stands for NULL, for a column that the table does not have and for a value that is
    not of this kind (a text is simply empty, and marked).
    """

    name: str
    kind: ColumnKind
    missing: int | float = -1
