"""In every mode, whatever a CUDA program does: each kernel that was seen is timed, skipped or lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.played_cuda import PlayedCuda
from tests.played_runs import PlayedRun, coverage_of, run_collected, traced_kernels

MODES = {
    "lite": {"WAVESCOPE_SLICE_MS": "3", "WAVESCOPE_SLICE_PERIOD_MS": "10"},
    "lite without slices": {"WAVESCOPE_SLICE_MS": "0"},
    "standard": {},
    "full": {},
    "hip": {},
}
WAYS = {
    "steps": 10,
    "graph": 40,
    "copies": 3,
    "threads": 10,
    "modules": 3,
    "failures": 5,
    "fork": 5,
    "spawn": 5,
    "fork_late": 5,
    "exec": 5,
    "at_once": 5,
    "kill": 5,
    "for": 60,
}
"""Ways to be a program, all of whose launches are seen, and how often it does what it does."""
TROUBLE = {
    "zero_every": "zero_every=7",
    "inverted_every": "inverted_every=5",
    "drop_every": "drop_every=3",
    "late": "late_ms=30",
    "two GPUs": "gpus=2",
}


def run_in(
    played: PlayedCuda,
    folder: Path,
    mode: str,
    *way: object,
    version: str = "13",
    settings: str = "",
) -> PlayedRun:
    return run_collected(
        played,
        folder,
        *way,
        mode=mode.partition(" ")[0],
        version=version,
        settings=settings,
        **MODES[mode],
    )


def counts(run: PlayedRun) -> tuple[int, int, int, int]:
    """Kernels seen, timed, skipped and lost, no count of which makes no sense."""
    with run.trace() as trace:
        rows = trace.coverage.to_pandas().to_dict("records")
        for row in rows:
            assert all(0 <= row[name] < 1 << 40 for name in ("seen", "timed", "skipped", "lost"))
        coverage, kernels = coverage_of(trace), traced_kernels(trace)
        timed = coverage["timed"]
        assert timed <= len(kernels)  # one without times is in the trace, too
        skipped, lost = (sum(coverage[kind].values()) for kind in ("skipped", "lost"))
        assert coverage["seen"] == timed + skipped + lost, coverage
        return coverage["seen"], timed, skipped, lost


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_what_was_seen_is_accounted_for(
    played: PlayedCuda, tmp_path: Path, way: str, mode: str
) -> None:
    run = run_in(played, tmp_path, mode, way, WAYS[way])

    seen, _, skipped, lost = counts(run)
    assert (seen, run.complaints) == (len(run.kernels), "")
    if not mode.startswith("lite"):
        assert skipped == 0
    if way not in ("exec", "kill"):
        assert lost == 0


@pytest.mark.parametrize("version", ["12", "13"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["pause", "pause_graphs"])
def test_pauses_leave_nothing_unaccounted_for(
    played: PlayedCuda, tmp_path: Path, way: str, mode: str, version: str
) -> None:
    run = run_in(played, tmp_path, mode, way, 10, version=version)

    seen, _, _, lost = counts(run)
    assert (run.code, run.err, run.complaints, lost) == (3, "", "", 0)
    assert 0 < seen <= len(run.kernels)


@pytest.mark.parametrize("version", ["12", "13"])
def test_graphs_of_before_and_of_a_pause_are_known_after_it(
    played: PlayedCuda, tmp_path: Path, version: str
) -> None:
    run = run_in(played, tmp_path, "standard", "pause_graphs", 10, version=version)

    assert counts(run)[0] == len(run.kernels)
    with run.trace() as trace:
        assert list(trace.notes.sentences()) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("trouble", TROUBLE)
def test_trouble_leaves_nothing_unaccounted_for(
    played: PlayedCuda, tmp_path: Path, trouble: str, mode: str
) -> None:
    run = run_in(played, tmp_path, mode, "threads", 10, settings=TROUBLE[trouble])

    assert counts(run)[0] == len(run.kernels) == 160
