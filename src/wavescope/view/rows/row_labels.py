"""What rows are called, as the report page and exported timelines call them."""

from __future__ import annotations

from wavescope.formats.timeline import TrackLabels, table_rows
from wavescope.model.columns import QUEUES
from wavescope.model.source import TraceSource

_LARGEST_NUMBER = 100_000
_LAST_DIGITS = 6


class RowLabels:
    """Names from the tables of a trace, or something readable where they are silent."""

    def __init__(self, source: TraceSource) -> None:
        self._tracks = TrackLabels(source)
        self._queues = {
            (gpu, queue): str(name)
            for gpu, queue, name in table_rows(source, QUEUES, ("gpu", "queue", "name"))
        }

    def gpu(self, gpu: int) -> str:
        return f"GPU {gpu}" if gpu >= 0 else "unknown GPU"

    def queue(self, gpu: int, queue: int) -> str:
        """A queue; some tools number queues by their address, of which the end is enough."""
        named = self._queues.get((gpu, queue), "")
        if named or queue < _LARGEST_NUMBER:
            return named or (f"queue {queue}" if queue >= 0 else "unknown queue")
        return "queue …" + f"{queue:x}"[-_LAST_DIGITS:]

    def process(self, process: int) -> str:
        """A process with its rank, name and pid."""
        label, pid = self._tracks.process(process), self._tracks.pid(process)
        return label if pid < 0 or str(pid) in label.split() else f"{label} (pid {pid})"

    def process_rank(self, process: int) -> tuple[int, int]:
        """Where a process stands among the others."""
        return self._tracks.process_rank(process), process

    def thread(self, process: int, thread: int) -> str:
        """A thread by its name and number."""
        label = self._tracks.thread(process, thread)
        return label if thread < 0 or str(thread) in label.split() else f"{label} ({thread})"
