"""Where work is done: what can be asked for, and how it is called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wavescope.errors import UsageError
from wavescope.workers import EngineOptions, engine_name
from wavescope.workers import engine_options as module
from wavescope.workers.engine_options import processor_count


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (EngineOptions(workers=0), "this process"),
        (EngineOptions(workers=1), "1 process"),
        (EngineOptions(workers=1000), "1,000 processes"),
        (EngineOptions(workers=2, scheduler="local"), "a Dask cluster of 2 processes"),
        (EngineOptions(scheduler="tcp://a:8786"), "Dask at tcp://a:8786"),
        (EngineOptions(ssh_hosts=("a", "b")), "Dask on 2 hosts over SSH"),
        (EngineOptions(slurm="queue=x"), "Dask in 1 job of Slurm"),
        (EngineOptions(slurm="queue=x", workers=3), "Dask in 3 jobs of Slurm"),
    ],
)
def test_an_engine_has_a_name_for_people(options: EngineOptions, name: str) -> None:
    assert engine_name(options) == name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scheduler": "local", "slurm": "queue=x"}, "exclude each other"),
        ({"scheduler": "tcp://a:1", "ssh_hosts": ("a",)}, "exclude each other"),
        ({"workers": -1}, "-1 workers cannot"),
        ({"workers": 0, "scheduler": "local"}, "0 workers cannot"),
        ({"memory_limit_bytes": 0}, "memory limit of a worker must be positive"),
        ({"item_limit_s": 0.0}, "time limit of an item must be positive"),
        ({"item_limit_s": float("nan")}, "time limit of an item must be positive"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        EngineOptions(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("quota", "count"),
    [("max 100000", 8), ("250000 100000", 3), ("1000 100000", 1), ("9900000 100000", 8), ("", 8)],
)
def test_a_container_may_have_fewer_processors(
    quota: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(module, "_CPU_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))

    assert processor_count() == count
