"""Timeline facts: spread, gaps, barriers, matrix rate, hidden latency, occupancy over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capture_analyses import traced
from tests.capture_folders import CaptureBuilder, a_capture, step
from wavescope.analyze.capture.barriers import barrier_groups, barrier_table, workgroup_of_wave
from wavescope.analyze.capture.kernel_occupancy import occupancy_over_time
from wavescope.analyze.capture.wave_behaviour import issue_gaps, wave_behaviour
from wavescope.model.capture import no_occupancy

LOAD = "global_load_dword v0, v[0:1], off"
MFMA = "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]"


def test_spread_and_slowest_waves() -> None:
    builder = a_capture().with_code("s_nop 0")
    for slot, stall in enumerate([6, 16, 96]):
        builder.with_wave([step(1, stall=stall)], slot=slot)

    result = wave_behaviour(traced(builder))

    lifetime = result.table("wave_spread").records()[0]
    assert (lifetime["minimum"], lifetime["median"], lifetime["maximum"]) == (10, 20, 100)
    assert lifetime["maximum_over_median"] == 5
    slowest = result.table("slowest_waves").records()[0]
    assert slowest["wave"] == "SE0 SIMD0 slot 2 wave 0"
    assert (slowest["lifetime"], slowest["stall"], slowest["stall_percent"]) == (100, 96, 96)


def test_gaps_are_idle_cycles_and_equal_the_codes_idle_column() -> None:
    builder = a_capture().with_code("s_nop 0", "v_add_f32 v0, v1, v2")
    builder.with_wave([step(1, idle=7), step(2, idle=30), step(1), step(2, idle=5)])
    analysis = traced(builder)

    table = wave_behaviour(analysis).table("issue_gaps")

    assert issue_gaps(analysis.waves, 0).tolist() == [7, 30, 0, 5]
    assert table.column("row") == [2, 1]
    assert table.column("gap") == [35, 7]
    assert table.column("longest") == [30, 7]
    assert analysis.instructions.idle.tolist() == [0, 7, 35]


@settings(max_examples=30)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 2), st.integers(0, 50), st.integers(0, 50)), max_size=12),
        min_size=1,
        max_size=4,
    )
)
def test_gaps_never_cross_waves(waves: list[list[tuple[int, int, int]]]) -> None:
    builder = a_capture().with_code("s_nop 0", "s_nop 1")
    for slot, steps in enumerate(waves):
        own = [step(row, stall=stall, idle=idle) for row, stall, idle in steps]
        builder.with_wave(own, slot=slot, begin=1000 * slot)

    read = traced(builder).waves
    assert [issue_gaps(read, wave).tolist() for wave in range(len(read))] == [
        [idle for *_, idle in steps] for steps in waves
    ]


def a_barrier(*arrivals: int) -> CaptureBuilder:
    """Waves that arrive so late and leave together 10 cycles after the last."""
    builder = a_capture().with_code("s_nop 0", ("s_barrier", "/k.py:9"))
    for slot, arrival in enumerate(arrivals):
        release = max(arrivals) + 10
        builder.with_wave([step(1, issue=arrival), step(2, stall=release - arrival)], slot=slot)
    return builder


def test_the_late_wave_of_a_barrier_is_named() -> None:
    analysis = traced(a_barrier(100, 400, 120))
    (group,) = barrier_groups(analysis)
    table = barrier_table(analysis)

    assert (group.skew, group.late_wave, group.waves) == (300, 1, (0, 1, 2))
    assert table is not None
    (row,) = table.records()
    assert row["late_wave"] == "SE0 SIMD0 slot 1 wave 0"
    assert (row["groups"], row["waves"], row["mean_skew"], row["stall"]) == (1, 3, 300, 610)
    assert row["source"] == "k.py:9"


def test_barriers_of_other_units_and_times_are_others() -> None:
    builder = a_capture().with_code("s_barrier")
    builder.with_wave([step(1, stall=10), step(1, stall=10, idle=5000)], slot=0)
    builder.with_wave([step(1, stall=9), step(1, stall=12, idle=5000)], slot=1)
    builder.with_wave([step(1, stall=10)], slot=2, cu=2)

    groups = barrier_groups(traced(builder))

    assert [sorted(group.waves) for group in groups] == [[0, 1], [0, 1]]


def test_workgroups_that_leave_together_are_others_where_files_tell() -> None:
    builder = a_capture().with_code("s_nop 0", "s_barrier")
    for slot, (arrival, workgroup) in enumerate(((100, 5), (300, 6), (200, 5), (400, 6))):
        builder.with_wave(
            [step(1, issue=arrival), step(2, stall=410 - arrival)], slot=slot, workgroup=workgroup
        )

    groups = barrier_groups(traced(builder))

    assert [(group.waves, group.skew, group.late_wave) for group in groups] == [
        ((0, 2), 100, 2),
        ((1, 3), 100, 3),
    ]


def test_a_slot_is_of_the_workgroup_that_started_last_in_it() -> None:
    builder = a_capture().with_code("s_nop 0")
    builder.with_wave([step(1, issue=50)], slot=0, begin=100, workgroup=3)
    builder.with_wave([step(1, issue=50)], slot=0, begin=150, workgroup=7)
    builder.with_wave([step(1, issue=50)], slot=1, begin=150)
    builder.with_wave([step(1, issue=50)], slot=0, cu=2, begin=120, workgroup=4)
    capture = traced(builder).capture

    assert workgroup_of_wave(capture).tolist() == [3, 7, 4, -1], "by place"
    assert workgroup_of_wave(replace(capture, occupancy=no_occupancy())).tolist() == [-1] * 4


def test_matrix_instructions_against_their_cycles() -> None:
    steps = [
        step(1, issue=16),
        step(1, issue=16),
        step(1, issue=16),
        step(2, issue=48),
        step(1, issue=16),
    ]
    builder = a_capture().with_code(MFMA, "s_nop 0").with_wave(steps)
    analysis = traced(builder.with_agent(Name="gfx942"))
    (row,) = wave_behaviour(analysis).table("matrix_rate").records()
    (unit,) = wave_behaviour(analysis).table("matrix_busy").records()

    assert row["instruction"] == "v_mfma_f32_16x16x16_f16"
    assert (row["executed"], row["cycles"], row["usual_gap"], row["median_gap"]) == (4, 16, 16, 16)
    assert row["rate_percent"] == pytest.approx(50)
    assert (unit["busy_cycles"], unit["lifetime"]) == (64, 112)


def test_latency_is_split_into_hidden_and_waited_for() -> None:
    builder = a_capture().with_code(LOAD, MFMA, "s_waitcnt vmcnt(0)")
    builder.with_wave([step(1, stall=5), step(2, issue=16), step(2, issue=16), step(3, stall=100)])

    (row,) = wave_behaviour(traced(builder)).table("latency_hiding").records()

    assert row["row"] == 1
    assert (row["waits"], row["distance"], row["matrix_between"]) == (1, 36, 2)
    assert (row["stall"], row["hidden"]) == (100, 36)
    assert row["hidden_percent"] == pytest.approx(100 * 36 / 136)
    assert row["exposed"] == 100


def test_stall_under_another_waves_work_is_not_exposed() -> None:
    builder = a_capture().with_code(LOAD, "s_waitcnt vmcnt(0)", "v_add_f32 v0, v1, v2")
    builder.with_wave([step(1), step(2, stall=100)])
    builder.with_wave([step(3, issue=40, idle=14)], slot=1)

    (row,) = wave_behaviour(traced(builder)).table("latency_hiding").records()

    assert (row["stall"], row["exposed"]) == (100, 60)


def test_mix_counts_executions() -> None:
    builder = a_capture().with_code("s_nop 0", "v_add_f32 v0, v1, v2")
    builder.with_wave([step(2), step(2, stall=6), step(2), step(1)])

    rows = wave_behaviour(traced(builder)).table("instruction_mix").records()

    assert [(row["type"], row["executed"], row["executed_percent"]) for row in rows] == [
        ("VALU", 3, 75),
        ("nop", 1, 25),
    ]
    assert rows[0]["stall_per_execution"] == 2


def test_occupancy_over_time_is_the_mean_of_each_piece() -> None:
    builder = a_capture().with_code("s_nop 0")
    builder.with_wave([step(1, issue=100)], begin=0)
    builder.with_wave([step(1, issue=50)], begin=50, slot=1)
    builder.with_wave([step(1, issue=50)], begin=0, simd=1)

    table = occupancy_over_time(traced(builder).capture.occupancy, pieces=4)

    assert table is not None
    assert table.column("mean_waves") == [2, 2, 2, 2]
    assert table.column("peak_waves") == [2, 2, 2, 2]
    assert table.column("mean_per_simd") == [1, 1, 1, 1]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 500), st.integers(1, 300)), min_size=1, max_size=8))
def test_pieces_add_up_to_all_wave_cycles(spans: list[tuple[int, int]]) -> None:
    builder = a_capture().with_code("s_nop 0")
    for slot, (begin, length) in enumerate(spans):
        builder.with_wave([step(1, issue=length)], begin=begin, slot=slot)

    table = occupancy_over_time(traced(builder).capture.occupancy)

    assert table is not None
    starts, ends = np.array(table.column("start"), int), np.array(table.column("end"), int)
    area = (np.array(table.column("mean_waves"), float) * (ends - starts)).sum()
    assert area == pytest.approx(sum(length for _, length in spans))


def test_measured_and_theoretical_occupancy_stand_side_by_side() -> None:
    builder = (
        a_capture()
        .with_code("v_mov_b32 v200, v1")
        .with_wave([step(1, issue=100)])
        .with_wave([step(1, issue=100)], slot=1)
        .with_kernel_row(VGPR_Count=144, Accum_VGPR_Count=136, SGPR_Count=96, LDS_Block_Size=0)
        .with_agent(Name="gfx942", Simd_Per_Cu=4, Max_Waves_Per_Simd=8)
    )

    facts = wave_behaviour(traced(builder)).facts

    assert facts["measured_peak_waves_per_simd"] == 2
    assert facts["theoretical_waves_per_simd"] == 1


def test_nothing_traced_gives_no_tables() -> None:
    assert wave_behaviour(traced(a_capture())).tables == []
