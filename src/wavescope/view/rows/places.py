"""On which row a range lies: every op, marker and call on exactly one."""

from __future__ import annotations

from typing import NamedTuple

from wavescope.model.op_kinds import OpKind

HOST_TABLES = ("markers", "calls")
_COPYING = (OpKind.COPY, OpKind.FILL)


class OpPlace(NamedTuple):
    """A queue of a GPU, or (queue None) the row of its copies and fills."""

    gpu: int
    queue: int | None

    @property
    def row_id(self) -> str:
        return f"copies/{self.gpu}" if self.queue is None else f"queue/{self.gpu}/{self.queue}"


class HostPlace(NamedTuple):
    """The markers or the calls of a thread."""

    process: int
    """As `formats.timeline.ProcessKeys` numbers them: the row in `processes` where it is listed."""
    thread: int
    table: str

    @property
    def row_id(self) -> str:
        return f"{self.table}/{self.process}/{self.thread}"


Place = OpPlace | HostPlace


def op_row_id(gpu: int, queue: int, kind: OpKind) -> str:
    """The row of an op; a barrier, which does no work, has none."""
    if kind is OpKind.BARRIER:
        return ""
    return OpPlace(gpu, None if kind in _COPYING else queue).row_id


def place_of(row_id: str) -> Place | None:
    """The place whose row has that id; None where it is no row of ranges."""
    kind, *numbers = row_id.split("/")
    try:
        values = [int(number) for number in numbers]
    except ValueError:
        return None
    if kind == "queue" and len(values) == 2:
        return OpPlace(values[0], values[1])
    if kind == "copies" and len(values) == 1:
        return OpPlace(values[0], None)
    if kind in HOST_TABLES and len(values) == 2:
        return HostPlace(values[0], values[1], kind)
    return None
