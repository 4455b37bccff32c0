"""SQL on any trace, read-only."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from wavescope.api.files import OWN_FORMAT, convert
from wavescope.closing import Closing
from wavescope.errors import UsageError
from wavescope.formats import open_source
from wavescope.formats.sqlite.read_only_query import ReadOnlyQuery, SqlRow, require_sqlite
from wavescope.formats.wavescope import is_wavescope_file
from wavescope.model.paths import PathLike
from wavescope.model.progress import Progress, Tell, no_progress, tell_nobody
from wavescope.process import removed_in_the_end
from wavescope.unpacking import told_when_full


class QueryRows(Closing):
    """The rows of one statement, read as they are asked for; `columns` are their names.

    They can be read once. The trace is released at the end of a `with` block, or by `close`.
    """

    def __init__(self, query: ReadOnlyQuery, held: ExitStack) -> None:
        self._query = query
        self._held = held
        self.columns = query.columns

    def __iter__(self) -> Iterator[SqlRow]:
        return iter(self._query)

    def close(self) -> None:
        """Release the trace and remove what was made of it."""
        self._held.close()


def query(
    path: PathLike,
    sql: str,
    *,
    raw: bool = False,
    counter_instances: bool = False,
    progress: Progress = no_progress,
    tell: Tell = tell_nobody,
) -> QueryRows:
    """The rows that one SELECT statement gives; nothing can be changed by it.

    A trace of another format is converted to a temporary trace file first; with `raw` an SQLite
    file is queried as it is. With `counter_instances` counters are by instance of their block.
    """
    given = Path(path)
    # Who asks for instances of a file that has none hears so, of its own kind, too.
    is_own_file = is_wavescope_file(given) and not counter_instances
    with ExitStack() as stack:
        if raw:
            if counter_instances:
                raise UsageError(
                    "the counters of a file that is queried as it is cannot be split into instances"
                )
            require_sqlite(given)
        elif not is_own_file:
            folder = tempfile.mkdtemp(prefix="wavescope-")
            stack.enter_context(removed_in_the_end(folder))
            target = Path(folder) / "trace.db"
            with told_when_full(folder):
                given = convert(
                    path,
                    target,
                    format=OWN_FORMAT,
                    counter_instances=counter_instances,
                    progress=progress,
                    tell=tell,
                )
        if not raw:
            open_source(given).close()  # what no command reads is not queried as a trace either
            _tell_sampled(given, tell)
        rows = stack.enter_context(closing(ReadOnlyQuery(given, sql)))
        return QueryRows(rows, stack.pop_all())


_SLICE_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'wavescope_slice'"
_ANY_SLICE = "SELECT 1 FROM wavescope_slice LIMIT 1"


def _tell_sampled(path: Path, tell: Tell) -> None:
    """Tell that rows are of slices only, where that is so: SQL knows nothing of it."""
    for sql in (_SLICE_TABLE, _ANY_SLICE):
        with closing(ReadOnlyQuery(path, sql)) as found:
            if not any(True for _ in found):
                return
    tell(
        "the trace is sampled: kernels were recorded in the slices of table wavescope_slice only, "
        "and time outside of them is not idle time"
    )
