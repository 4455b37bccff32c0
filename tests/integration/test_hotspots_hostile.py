"""Hostile numbers in every file of a capture: a report comes out, or a clear error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capture_folders import HEADER, write_json
from wavescope.cli.main import main

_NUMBERS = st.sampled_from(
    [0, 1, 4, 255, 256, 2**31 - 1, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, 10**30, -1, -(2**63)]
) | st.integers(0, 500)
_TEXTS = (
    "global_load_dword v0, v[0:1], off",
    "s_waitcnt vmcnt(0)",
    "s_barrier",
    "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]",
    "s_waitcnt 0xffffffff",
    "s_waitcnt vmcnt(99999999) lgkmcnt(0)",
)


@st.composite
def _captures(draw: st.DrawFn) -> dict[str, Any]:
    code = [["; k", 0, 0, "k", 1, 0, 0, 0, 0, 0]]
    for row, text in enumerate(_TEXTS, start=1):
        numbers = [draw(_NUMBERS) for _ in range(4)]
        code.append(
            [text, 0, draw(st.sampled_from([row, 0, 10**9])), f"/k.py:{row}", 1, 8, *numbers]
        )
    waves = {}
    for wave in range(draw(st.integers(0, 2))):
        events = draw(
            st.lists(
                st.tuples(_NUMBERS, st.integers(0, 12), _NUMBERS, _NUMBERS, st.integers(-1, 9)),
                max_size=6,
            )
        )
        waves[f"se0_sm0_sl{wave}_wv0.json"] = {
            "wave": {
                "begin": draw(_NUMBERS),
                "end": draw(_NUMBERS),
                "cu": draw(_NUMBERS),
                "simd": draw(_NUMBERS),
                "slot": wave,
                "id": 0,
                "instructions": events,
                "timeline": draw(st.lists(st.tuples(_NUMBERS, _NUMBERS), max_size=3)),
                "waitcnt": draw(
                    st.lists(
                        st.tuples(_NUMBERS, st.lists(st.tuples(_NUMBERS, _NUMBERS), max_size=2)),
                        max_size=2,
                    )
                ),
            }
        }
    rows = st.lists(
        st.tuples(_NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, st.integers(0, 1), _NUMBERS), max_size=4
    )
    return {
        "code.json": {"code": code, "header": HEADER},
        "occupancy.json": {"0": draw(rows), "dispatches": {}},
        "realtime.json": {
            "SE0": draw(st.lists(st.tuples(_NUMBERS, _NUMBERS), max_size=3)),
            "metadata": {"frequency": draw(_NUMBERS)},
        },
        **waves,
    }


@settings(max_examples=60)
@given(files=_captures())
def test_extreme_numbers_give_a_report(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    for name, content in files.items():
        write_json(folder / name, content)

    assert main(["hotspots", str(folder), "--timeline", "--detail", "--json", "-q"]) == 0


def test_text_that_is_no_text_gives_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        [7, 0, 1, {"a": 1}, 1, 8, 1, 2, 1, 0],
        ["\ud800 \x00", 0, 2, "a.py:3", 1, 8, 1, 2, 1, 0],
    ]
    (tmp_path / "code.json").write_text(json.dumps({"code": rows, "header": HEADER}))

    assert main(["hotspots", str(tmp_path), "--detail"]) == 0
    assert "a.py:3" in capsys.readouterr().out
