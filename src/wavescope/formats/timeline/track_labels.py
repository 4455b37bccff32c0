"""What GPUs, queues, processes and threads are called on a timeline."""

from __future__ import annotations

from collections.abc import Iterator

from wavescope.formats.timeline.survey import pid_of_key
from wavescope.model.columns import AGENTS, PROCESSES, QUEUES, THREADS, ColumnType, Table
from wavescope.model.source import TraceSource, read_columns

_PROCESS_COLUMNS = ("id", "pid", "rank", "host", "name", "command")
_AGENT_COLUMNS = ("gpu", "host", "model", "chip")


def table_rows(
    source: TraceSource, table: Table, columns: tuple[str, ...]
) -> Iterator[tuple[int | str, ...]]:
    """The rows of a small table, names as text."""
    batch = read_columns(source, table, columns)
    values: list[list[int] | list[str]] = [
        source.strings.decode(batch[name])
        if table.column(name).type is ColumnType.STRING
        else batch[name].tolist()
        for name in columns
    ]
    return zip(*values, strict=True)


class TrackLabels:
    """Names by number, from the tables of a trace, or something readable where they are silent."""

    def __init__(self, source: TraceSource) -> None:
        self._processes = {row[0]: row for row in table_rows(source, PROCESSES, _PROCESS_COLUMNS)}
        self._threads = {
            (process, thread): str(name)
            for process, thread, name in table_rows(source, THREADS, ("process", "thread", "name"))
        }
        self._agents = {
            gpu: (str(host), str(model) or str(chip))
            for gpu, host, model, chip in table_rows(source, AGENTS, _AGENT_COLUMNS)
        }
        self._queues = {
            (gpu, queue): str(name)
            for gpu, queue, name in table_rows(source, QUEUES, ("gpu", "queue", "name"))
        }
        hosts = {host for host, _ in self._agents.values()}
        hosts |= {str(row[3]) for row in self._processes.values()}
        self._several_hosts = len(hosts - {""}) > 1

    @property
    def pids(self) -> list[int]:
        """The pids of all listed processes."""
        return [int(row[1]) for row in self._processes.values()]

    def gpu(self, gpu: int, digits: int) -> str:
        """A GPU; numbers are padded to `digits`, because viewers sort by name."""
        host, model = self._agents.get(gpu, ("", ""))
        number = f"GPU {gpu:0{digits}d}" if gpu >= 0 else "unknown GPU"
        parts = [number, model, f"on {host}" if host and self._several_hosts else ""]
        return " ".join(part for part in parts if part)

    def queue(self, gpu: int, queue: int) -> str:
        """A queue of a GPU."""
        return self._queues.get((gpu, queue), "") or f"queue {queue}"

    def process(self, key: int) -> str:
        """A process, by its key (see `ProcessKeys`)."""
        if key not in self._processes:
            unlisted = pid_of_key(key)
            return f"process {unlisted}" if unlisted >= 0 else "unknown process"
        _, pid, rank, host, name, command = self._processes[key]
        words = str(command).split()
        parts = [
            f"rank {rank}" if int(rank) >= 0 else "",
            str(name) or (words[0].rsplit("/", 1)[-1] if words else f"process {pid}"),
            f"on {host}" if host and self._several_hosts else "",
        ]
        return " ".join(part for part in parts if part)

    def process_rank(self, key: int) -> int:
        """Where a process stands among the others: its rank, else its id."""
        if key not in self._processes:
            return len(self._processes)
        rank = int(self._processes[key][2])
        return rank if rank >= 0 else key

    def pid(self, key: int) -> int:
        """The real pid of a process, -1 when unknown."""
        return int(self._processes[key][1]) if key in self._processes else pid_of_key(key)

    def thread(self, key: int, thread: int) -> str:
        """A thread of a process."""
        name = self._threads.get((key, thread), "")
        return name or (f"thread {thread}" if thread >= 0 else "unknown thread")
