"""Room is made for as many rows as a file can hold, whatever ids it claims."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.builders import random_ops
from tests.formats.test_rocpd import FIRST, HIP, LAUNCH, RocpdFile
from tests.sample_files import write_as
from wavescope.errors import UnreadableInputError
from wavescope.formats import open_source, open_trace
from wavescope.model.columns import CALLS, LINKS, OPS
from wavescope.model.source import rows_of_room

HUGE = 2**40
WITH_LIMITED_MEMORY = """
import resource, sys
import wavescope.formats, numpy
from wavescope.cli.main import main
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20),) * 2)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(params=["trace.db", "trace.rpd"])
def claiming(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small file whose last op has a huge id."""
    path = write_as(random_ops(500), tmp_path / request.param)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE rocpd_op SET id = ? WHERE id = (SELECT max(id) FROM rocpd_op)", (HUGE,)
        )
        connection.commit()
    return path


def test_a_huge_id_reserves_nothing(claiming: Path) -> None:
    with open_source(claiming) as source:
        assert source.row_count(OPS) == HUGE
        assert rows_of_room(source, OPS) == claiming.stat().st_size // 6 + 1
    with open_trace(claiming) as trace:
        assert trace.ops["id"][-1] == HUGE
        assert len(trace.ops["id"]) == 500
        assert (
            trace.ops["id"].base is None
            or trace.ops["id"].base.nbytes < claiming.stat().st_size * 2
        )


def test_a_huge_id_needs_no_memory(claiming: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITH_LIMITED_MEMORY, "summary", str(claiming)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr


def test_huge_ids_of_calls_are_no_reason_for_many_passes(tmp_path: Path) -> None:
    file = RocpdFile(tmp_path / "1_results.db").add_part(FIRST, pid=10)
    file.event(FIRST, 1, HIP, 1)
    file.add(FIRST, "rocpd_region", id=2**60, pid=10, start=1, end=2, name_id=LAUNCH, event_id=1)
    file.dispatch(FIRST, 1, 2, event_id=1)
    with file.opened() as trace:
        assert trace.calls["id"].tolist() == [2**60]
        assert len(trace.table(LINKS)["op"]) == 1
        assert rows_of_room(trace.source, CALLS) < 10**6


def test_a_process_with_a_huge_number_is_refused(tmp_path: Path) -> None:
    path = write_as(random_ops(5), tmp_path / "trace.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE wavescope_process SET id = ?", (HUGE,))
        connection.commit()

    with (
        pytest.raises(UnreadableInputError, match=f"processes with the id {HUGE}"),
        open_trace(path) as trace,
    ):
        trace.processes.load("id")
