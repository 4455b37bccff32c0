"""What is read as a whole is a regular file of a bounded size; nothing else is waited for."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.counters_builder import a_workload
from wavescope.errors import UnreadableInputError
from wavescope.formats.counters import read_workload
from wavescope.formats.counters.pc_samples import _json_samples
from wavescope.formats.results import load_result, load_runs
from wavescope.model.toml_files import read_rules
from wavescope.model.workload_layout import RECORD_FILE
from wavescope.whole_files import whole_file
from wavescope.workers.dask_clusters import scheduler_address

READERS: dict[str, Callable[[Path], object]] = {
    "any": lambda path: whole_file(path, 10, "a test"),
    "result": load_result,
    "overhead": load_runs,
    "rules": read_rules,
    "scheduler": lambda path: scheduler_address(str(path)),
    "samples": lambda path: list(_json_samples(path)),
}


@pytest.fixture(autouse=True)
def ended_in_time() -> Iterator[None]:
    """Who waits for a pipe all the same waits for a minute."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it takes too long"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_the_bytes_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")

    assert whole_file(path, 10, "a test") == b"0123456789"
    with pytest.raises(UnreadableInputError, match="it is too large for a test"):
        whole_file(path, 9, "a test")
    with pytest.raises(UnreadableInputError, match="No such file"):
        whole_file(tmp_path / "b", 9, "a test")


@pytest.mark.parametrize("reader", READERS)
def test_nobody_waits_for_a_pipe_or_reads_a_device(reader: str, tmp_path: Path) -> None:
    pipe, zeros = tmp_path / "pipe.json", tmp_path / "zeros.json"
    os.mkfifo(pipe)
    zeros.symlink_to("/dev/zero")

    for path in (pipe, zeros, tmp_path):
        with pytest.raises(UnreadableInputError, match="it is not a regular file"):
            READERS[reader](path)


def test_a_pipe_in_a_workload_is_left_out(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("gemm", 1_000, SQ_WAVES=64).write()
    os.mkfifo(folder / RECORD_FILE)

    notes = read_workload(folder).notes.sentences()

    assert [note for note in notes if RECORD_FILE in note] == [
        f"{RECORD_FILE} was left out: it is not a regular file"
    ]


def test_a_record_without_end_of_nesting_is_left_out(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("gemm", 1_000, SQ_WAVES=64).write()
    (folder / RECORD_FILE).write_text("[" * 100_000)

    assert any(
        f"{RECORD_FILE} was left out" in each for each in read_workload(folder).notes.sentences()
    )
    (folder / RECORD_FILE).write_text(json.dumps({"passes": {}, "counters": {}}))
    assert not any(RECORD_FILE in each for each in read_workload(folder).notes.sentences())
