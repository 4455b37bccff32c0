"""What holds for any waves: stall is neither lost nor invented, gains never exceed what is exposed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capture_folders import CaptureBuilder, Step, a_capture
from tests.plan_contexts import a_context
from wavescope.analyze.capture.latency_hiding import exposed_stalls
from wavescope.analyze.capture.plan.plan import planned_changes

CODE = (
    "s_load_dwordx4 s[0:3], s[4:5], 0x0",
    "s_waitcnt lgkmcnt(0)",
    "buffer_load_dwordx4 v[8:11], v1, s[0:3], 0 offen",
    "buffer_load_dword v20, v1, s[0:3], 0 offen",
    "s_waitcnt vmcnt(0)",
    "ds_read_b128 v[4:7], v2",
    "s_waitcnt vmcnt(0) lgkmcnt(0)",
    "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], a[0:3]",
    "v_mul_f32_e32 v0, v20, v3",
    "scratch_store_dword off, v3, off offset:4",
    "s_barrier",
)
STEPS = st.builds(
    Step, st.integers(1, len(CODE)), st.integers(0, 300), st.integers(1, 20), st.integers(0, 30)
)
WAVES = st.lists(
    st.tuples(st.lists(STEPS, min_size=1, max_size=25), st.integers(0, 1), st.integers(0, 400)),
    min_size=1,
    max_size=5,
)


def captured(waves: list[tuple[list[Step], int, int]]) -> CaptureBuilder:
    capture = a_capture().with_code(*CODE)
    for slot, (steps, simd, begin) in enumerate(waves):
        capture.with_wave(steps, simd=simd, slot=slot, begin=begin)
    return capture


@settings(max_examples=60)
@given(WAVES)
def test_pieces_and_gains_add_up(waves: list[tuple[list[Step], int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        context = a_context(captured(waves), Path(folder))
        pieces = context.pieces

        assert int(pieces.stall.sum()) == sum(step.stall for steps, _, _ in waves for step in steps)
        assert (pieces.exposed >= 0).all()
        assert (pieces.exposed <= pieces.stall).all()
        assert (exposed_stalls(context.analysis) >= 0).all()
        changes = planned_changes(context)
        claimed = [place for change in changes for place in change.opportunity.pieces.tolist()]
        assert len(claimed) == len(set(claimed)), "no piece of stall counts for two patterns"
        assert all(0 <= (change.gain_percent or 0) <= 100 for change in changes)
        gains = [change.gain_percent or 0.0 for change in changes]
        assert gains == sorted(gains, reverse=True)


@settings(max_examples=30)
@given(WAVES)
def test_more_waves_of_a_simd_never_expose_more(waves: list[tuple[list[Step], int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        alone = a_context(captured(waves[:1]), Path(folder) / "alone")
        together = a_context(captured(waves), Path(folder) / "together")
        count = len(exposed_stalls(alone.analysis))
        first = [
            int(exposed_stalls(together.analysis)[place])
            for place in range(together.analysis.waves.event_count)
            if together.analysis.waves.slot[together.analysis.waves.wave_of_event[place]] == 0
        ]

        assert len(first) == count
        assert all(
            after <= before
            for after, before in zip(first, exposed_stalls(alone.analysis).tolist(), strict=True)
        )
