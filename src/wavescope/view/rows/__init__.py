"""The rows of a timeline: GPUs, queues, copies, markers, host calls and values over time."""

from wavescope.view.rows.row import Row, RowKind, Series

__all__ = ["Row", "RowKind", "Series"]
