"""What a workload says about its own collection, damaged or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wavescope.formats.counters.workload import profile_notes


def written(folder: Path, content: object) -> Path:
    (folder / "wavescope_profile.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_passes_that_went_wrong_and_unknown_counters_are_told(tmp_path: Path) -> None:
    passes = {
        "pmc_perf_0": {"problems": []},
        "pmc_perf_1": {"problems": ["failed: no dispatch", "not reported: TA_BUSY"]},
        "pmc_perf_2": {},
    }
    unknown = [f"SQ_{number}" for number in range(9)]

    assert profile_notes(written(tmp_path, {"passes": passes, "unknown_counters": unknown})) == [
        "pmc_perf_1: failed: no dispatch",
        "pmc_perf_1: not reported: TA_BUSY",
        (
            "rocprofv3 did not know 9 counters of the chip, and what needs them is missing: "
            "SQ_0 SQ_1 SQ_2 SQ_3 SQ_4 SQ_5 SQ_6 SQ_7 and 1 more"
        ),
    ]


def test_a_workload_of_others_has_nothing_to_tell(tmp_path: Path) -> None:
    assert profile_notes(tmp_path) == []


@pytest.mark.parametrize("content", [b"\xff", b"{", b"[]", b'{"passes": 3}', b"[" * 100_000])
def test_a_damaged_record_is_left_out(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "wavescope_profile.json").write_bytes(content)

    (note,) = profile_notes(tmp_path)

    assert note.startswith("wavescope_profile.json was left out: ")
