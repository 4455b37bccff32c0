"""The rows of a timeline: GPUs, queues, copies, markers, host calls and values over time.

More than six names go out: rows are read, drawn and coloured in three rooms, by their kind and
their place.
"""

from wavescope.view.rows.places import (
    HostPlace,
    OpPlace,
    Place,
    op_row_id,
    place_of,
)
from wavescope.view.rows.row import LazySeries, Row, RowKind, Series
from wavescope.view.rows.row_labels import RowLabels
from wavescope.view.rows.row_tree import RowTree
from wavescope.view.rows.row_values import queue_depths

__all__ = [
    "HostPlace",
    "LazySeries",
    "OpPlace",
    "Place",
    "Row",
    "RowKind",
    "RowLabels",
    "RowTree",
    "Series",
    "op_row_id",
    "place_of",
    "queue_depths",
]
