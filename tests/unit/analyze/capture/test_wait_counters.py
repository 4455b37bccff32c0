"""The wait counters give the decoder's dependency lists, and the chip's where the decoder errs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capture_analyses import traced
from tests.capture_folders import a_capture, decoder_dependencies, step
from tests.reference import wait_counters
from wavescope.analyze.capture import CaptureAnalysis
from wavescope.analyze.capture.coverage import reproduced_dependencies
from wavescope.analyze.capture.traced_chip import IsaFamily
from wavescope.analyze.capture.wait_counter_rules import COUNTERS, CounterRules
from wavescope.analyze.capture.wait_counters import (
    Dependencies,
    counter_program,
    find_dependencies,
)


def ran(gfxip: int, *texts: str) -> CaptureAnalysis:
    """One wave that executed `texts` once, in order."""
    builder = a_capture(gfxip=gfxip).with_code(*texts)
    return traced(builder.with_wave([step(row, stall=10) for row in range(1, len(texts) + 1)]))


def lists(analysis: CaptureAnalysis) -> dict[int, list[int]]:
    """For each row that waited the rows that it waited for."""
    found: dict[int, list[int]] = {}
    row = analysis.executed.row
    for index, event in enumerate(analysis.dependencies.wait_event.tolist()):
        producers = row[analysis.dependencies.producers(index)].tolist()
        found.setdefault(int(row[event]), []).extend(producers)
    return found


def test_gfx9_vector_memory_finishes_in_order() -> None:
    analysis = ran(
        9,
        "global_load_dword v0, v[0:1], off",
        "buffer_store_dword v0, v1, s[0:3], 0 offen",
        "scratch_load_dword v2, off, off",
        "s_waitcnt vmcnt(2)",
        "s_waitcnt vmcnt(1)",
        "s_waitcnt vmcnt(0)",
        "s_waitcnt vmcnt(0)",
    )

    assert lists(analysis) == {4: [1], 5: [2], 6: [3]}


def test_gfx9_scalar_loads_finish_in_any_order() -> None:
    analysis = ran(
        9,
        "s_load_dword s0, s[2:3], 0x0",
        "ds_read_b32 v0, v1",
        "s_waitcnt lgkmcnt(1)",
        "s_waitcnt lgkmcnt(0)",
        "ds_read_b32 v0, v1",
        "ds_write_b32 v0, v1",
        "s_waitcnt lgkmcnt(1)",
    )

    assert lists(analysis) == {4: [1, 2], 7: [5]}


def test_flat_counts_twice_on_the_chip() -> None:
    analysis = ran(9, "flat_load_dword v0, v[2:3]", "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)")

    assert lists(analysis) == {2: [1], 3: [1]}


def test_one_wait_for_two_counters_makes_two_lists() -> None:
    analysis = ran(
        9,
        "global_load_dword v0, v[0:1], off",
        "ds_read_b32 v0, v1",
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
    )
    names = [COUNTERS[IsaFamily.GFX9].names[code] for code in analysis.dependencies.counter]

    assert names == ["lgkmcnt", "vmcnt"]
    assert analysis.dependencies.last_producer.tolist() == [1, 0]


def test_waits_spelled_as_a_number_and_buffer_scalars_are_seen() -> None:
    analysis = ran(
        9,
        "s_buffer_load_dword s0, s[4:7], 0x0",
        "s_waitcnt 0xc07f",
        "buffer_load_dword v0, v1, s[0:3], 0 offen",
        "s_waitcnt 0x0f70",
    )

    assert lists(analysis) == {2: [1], 4: [3]}


def test_gfx10_stores_have_their_own_counter() -> None:
    analysis = ran(
        10,
        "buffer_load_dword v0, v1, s[0:3], 0 offen",
        "global_store_dword v[0:1], v2, off",
        "global_atomic_add v[0:1], v2, off",
        "global_atomic_add v5, v[0:1], v2, off glc",
        "s_waitcnt vmcnt(1)",
        "s_waitcnt_vscnt null, 0x1",
        "s_waitcnt vmcnt(0)",
        "s_waitcnt_vscnt null, 0x0",
    )

    assert lists(analysis) == {5: [1], 6: [2], 7: [4], 8: [3]}


def test_gfx12_has_a_counter_for_each_kind() -> None:
    analysis = ran(
        12,
        "global_load_b32 v0, v[0:1], off",
        "ds_load_b32 v1, v2",
        "s_load_b32 s0, s[2:3], 0x0",
        "global_store_b32 v[0:1], v2, off",
        "image_sample v0, v[1:2], s[0:7], s[8:11]",
        "s_wait_dscnt 0x0",
        "s_wait_kmcnt 0x0",
        "s_wait_storecnt 0x0",
        "s_wait_samplecnt 0x0",
        "s_wait_loadcnt 0x0",
    )

    assert lists(analysis) == {6: [2], 7: [3], 8: [4], 9: [5], 10: [1]}


def test_gfx12_pairs_and_idle() -> None:
    analysis = ran(
        12,
        "global_load_b32 v0, v[0:1], off",
        "global_load_b32 v1, v[0:1], off",
        "ds_load_b32 v1, v2",
        "s_wait_loadcnt_dscnt 0x100",
        "ds_store_b32 v1, v2",
        "s_wait_idle",
    )

    assert lists(analysis) == {4: [1, 3], 6: [2, 5]}


def test_counters_begin_anew_with_every_wave() -> None:
    builder = a_capture().with_code("global_load_dword v0, v[0:1], off", "s_waitcnt vmcnt(0)")
    builder.with_wave([step(1)]).with_wave([step(2)], slot=1)

    assert len(traced(builder).dependencies) == 0


_MEMORY = {
    9: [
        "s_load_dword s0, s[2:3], 0x0",
        "s_store_dword s0, s[2:3], 0x0",
        "s_sendmsg sendmsg(1)",
        "ds_read_b32 v0, v1",
        "global_load_dword v0, v[0:1], off",
        "tbuffer_load_format_x v0, off, s[0:3], 0",
        "flat_load_dword v0, v[2:3]",
        "flat_store_dword v[2:3], v0",
        "s_waitcnt vmcnt(0)",
        "s_waitcnt vmcnt(2)",
        "s_waitcnt lgkmcnt(0)",
        "s_waitcnt lgkmcnt(1)",
        "s_waitcnt vmcnt(1) lgkmcnt(0)",
        "v_add_f32 v0, v1, v2",
    ],
    10: [
        "s_load_b32 s0, s[2:3], 0x0",
        "s_sendmsg_rtn_b32 s0, sendmsg(1)",
        "ds_load_b32 v0, v1",
        "global_load_b32 v0, v[0:1], off",
        "buffer_store_b32 v0, v1, s[0:3], 0 offen",
        "s_waitcnt vmcnt(1)",
        "s_waitcnt_vscnt null, 0x0",
        "s_waitcnt lgkmcnt(0)",
        "s_waitcnt lgkmcnt(2)",
        "s_waitcnt_depctr 0xfff",
    ],
    12: [
        "s_load_b32 s0, s[2:3], 0x0",
        "s_sendmsg_rtn_b32 s0, sendmsg(1)",
        "ds_load_b32 v0, v1",
        "ds_param_load v0, attr0.x",
        "global_load_b32 v0, v[0:1], off",
        "global_wb scope:SCOPE_SYS",
        "scratch_store_b32 off, v0, s0",
        "flat_load_b32 v0, v[2:3]",
        "s_wait_loadcnt 0x1",
        "s_wait_storecnt 0x0",
        "s_wait_dscnt 0x0",
        "s_wait_dscnt 0x1",
        "s_wait_kmcnt 0x0",
        "s_wait_expcnt 0x0",
        "s_wait_alu 0xfffe",
    ],
}


@settings(max_examples=40)
@given(st.sampled_from([9, 10, 12]), st.lists(st.integers(0, 14), max_size=40), st.integers(1, 3))
def test_stored_lists_are_reproduced(gfxip: int, picks: list[int], waves: int) -> None:
    texts = _MEMORY[gfxip]
    builder = a_capture(gfxip=gfxip).with_code(*texts)
    for slot in range(waves):
        rows = [(pick * (slot + 1)) % len(texts) + 1 for pick in picks]
        builder.with_wave([step(row) for row in rows], slot=slot)
    analysis = traced(builder)

    same, stored = reproduced_dependencies(analysis)

    assert stored == len(analysis.waves.dependencies)
    assert same == stored


def test_lists_that_differ_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = ran(9, "global_load_dword v0, v[0:1], off", "s_waitcnt vmcnt(0)", "s_endpgm")
    stored = analysis.waves.dependencies
    stored.producer_row[0] = 3

    assert reproduced_dependencies(analysis) == (0, 1)


def both(analysis: CaptureAnalysis, rules: CounterRules) -> tuple[Dependencies, Dependencies]:
    program = counter_program(analysis.instructions, analysis.chip.family, rules)
    row, offsets = analysis.waves.row, analysis.waves.event_offsets
    return find_dependencies(program, row, offsets), wait_counters.find_dependencies(
        program, row, offsets
    )


@settings(max_examples=60)
@given(
    st.sampled_from([9, 10, 12]),
    st.lists(st.lists(st.integers(0, 14), max_size=30), min_size=1, max_size=3),
    st.sampled_from(list(CounterRules)),
)
def test_the_native_model_and_the_reference_agree(
    gfxip: int, waves: list[list[int]], rules: CounterRules
) -> None:
    texts = [*_MEMORY[gfxip], "s_wait_idle"]
    builder = a_capture(gfxip=gfxip).with_code(*texts)
    for slot, picks in enumerate(waves):
        builder.with_wave([step(pick % len(texts) + 1) for pick in picks], slot=slot)

    native, twin = both(traced(builder), rules)

    for column in ("wait_event", "counter", "producer_offsets", "producer_event"):
        assert getattr(native, column).tolist() == getattr(twin, column).tolist()


@settings(max_examples=40)
@given(st.lists(st.integers(-3, 40), max_size=20))
def test_rows_that_are_not_there_do_nothing(rows: list[int]) -> None:
    analysis = ran(9, "global_load_dword v0, v[0:1], off", "s_waitcnt vmcnt(0)")
    row = np.array(rows, np.int32)

    found = find_dependencies(analysis.program, row, np.array([0, len(rows)], np.int64))

    executed = [(index, "") for index in rows]
    texts = {1: "global_load_dword", 2: "s_waitcnt vmcnt(0)"}
    expected = decoder_dependencies(9, [(index, texts.get(index, "")) for index, _ in executed])
    assert [len(found.producers(index)) for index in range(len(found))] == [
        len(two) for _, two in expected
    ]
