"""Stall of waits is charged to what they waited for, to the last cycle."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capture_analyses import traced
from tests.capture_folders import CaptureBuilder, Step, a_capture, step
from wavescope.analyze.capture import CaptureAnalysis

LOAD = "global_load_dword v0, v[0:1], off"
READ = "ds_read_b32 v0, v1"


def a_kernel() -> CaptureBuilder:
    return a_capture().with_code(LOAD, LOAD, READ, "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_endpgm")


def charged(analysis: CaptureAnalysis) -> list[int]:
    return analysis.charges.charged[1:].tolist()


def test_a_wait_is_charged_to_the_operation_issued_last() -> None:
    builder = a_capture().with_code(LOAD, LOAD, "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)")
    steps = [step(1, stall=5), step(2), step(3, stall=100), step(4, stall=30)]

    assert charged(traced(builder.with_wave(steps))) == [105, 30, 0, 0]


def test_a_mixed_wait_is_split_among_its_counters() -> None:
    steps = [step(1), step(2), step(3), step(4, stall=101), step(5)]

    analysis = traced(a_kernel().with_wave(steps))

    assert charged(analysis) == [0, 50, 51, 0, 0]
    assert analysis.charges.wait_row.tolist() == [4, 4]
    assert analysis.charges.count.tolist() == [1, 1]


def mixed_after(*seen: Step, waiting: int) -> CaptureBuilder:
    """Waits on one counter each first, then a load, a read and a wait on both of them."""
    builder = a_capture().with_code(
        LOAD, READ, "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0) lgkmcnt(0)"
    )
    return builder.with_wave([*seen, step(1), step(2), step(5, stall=waiting)])


def test_a_mixed_wait_is_split_by_latencies_seen_at_waits_on_one_counter() -> None:
    load = [step(1), step(3, stall=600)]
    read = [step(2), step(4, stall=100)]

    analysis = traced(mixed_after(*load, *read, waiting=596))

    assert received(analysis, wait=5) == {1: 546, 2: 50}, (
        "the read takes 100 cycles more, which pass for both; the load takes all 596"
    )


def received(analysis: CaptureAnalysis, wait: int) -> dict[int, int]:
    """By producer the stall that came to it from a wait."""
    charges = analysis.charges
    of_wait = charges.wait_row == wait
    producers, stalls = charges.producer_row[of_wait], charges.stall[of_wait]
    return dict(zip(producers.tolist(), stalls.tolist(), strict=True))


def test_latencies_of_the_same_instruction_elsewhere_are_used() -> None:
    builder = a_capture().with_code(
        LOAD, READ, "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)", LOAD, READ,
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
    )  # fmt: skip
    seen = [step(1), step(3, stall=600), step(2), step(4, stall=100)]
    builder.with_wave([*seen, step(5), step(6), step(7, stall=596)])

    assert received(traced(builder), wait=7) == {5: 546, 6: 50}


def test_operations_that_were_done_before_the_wait_are_charged_nothing() -> None:
    builder = mixed_after(step(1), step(3, stall=600), step(2), step(4, stall=100), waiting=0)
    builder.waves[0].steps[-3:] = [step(2), step(1, idle=200), step(5, stall=590)]

    assert received(traced(builder), wait=5) == {1: 590, 2: 0}


def test_latencies_seen_for_one_counter_alone_leave_equal_parts() -> None:
    analysis = traced(mixed_after(step(1), step(3, stall=600), waiting=301))

    assert received(analysis, wait=5) == {1: 150, 2: 151}


def test_stall_beyond_all_latencies_goes_to_the_slowest() -> None:
    seen = [step(1), step(3, stall=600), step(2), step(4, stall=100)]

    analysis = traced(mixed_after(*seen, waiting=2_000))

    assert received(analysis, wait=5) == {1: 1_950, 2: 50}


def test_a_mixed_wait_with_one_producer_goes_there_whole() -> None:
    steps = [step(2), step(4, stall=101)]

    assert charged(traced(a_kernel().with_wave(steps))) == [0, 101, 0, 0, 0]


def test_a_wait_without_an_operation_keeps_its_stall() -> None:
    assert charged(traced(a_kernel().with_wave([step(4, stall=7)]))) == [0, 0, 0, 7, 0]


def test_loops_are_followed_through_the_waves() -> None:
    """The load of the round before is what this round's wait waits for."""
    builder = a_capture().with_code("s_waitcnt vmcnt(0)", LOAD, "s_cbranch_scc1 65533")
    steps = [
        step(1, stall=1),
        step(2),
        step(3),
        step(1, stall=40),
        step(2),
        step(3),
        step(1, stall=50),
    ]

    analysis = traced(builder.with_wave(steps))

    assert charged(analysis) == [1, 90, 0]
    assert analysis.charges.is_measured


def test_without_waves_program_order_is_followed() -> None:
    builder = a_kernel().with_wave([step(1), step(2), step(3), step(4, stall=100), step(5)])
    builder_rows = builder.rows()
    bare = a_kernel()
    bare.rows = lambda: builder_rows  # type: ignore[method-assign]

    analysis = traced(bare)

    assert not analysis.charges.is_measured
    assert charged(analysis) == [0, 50, 50, 0, 0]


def test_rows_never_give_more_than_they_have() -> None:
    """Wave files of another run than code.json: parts are scaled down, nothing turns negative."""
    builder = a_kernel().with_wave([step(1), step(2), step(3), step(4, stall=100), step(5)])
    rows = builder.rows()
    rows[4][8] = 10
    builder.rows = lambda: rows  # type: ignore[method-assign]

    analysis = traced(builder)

    assert (analysis.charges.charged >= 0).all()
    assert int(analysis.charges.charged.sum()) == analysis.total_stall


_TEXTS = [
    LOAD,
    READ,
    "s_load_dword s0, s[2:3], 0x0",
    "flat_load_dword v0, v[2:3]",
    "s_waitcnt vmcnt(0)",
    "s_waitcnt vmcnt(1)",
    "s_waitcnt lgkmcnt(0)",
    "s_waitcnt vmcnt(0) lgkmcnt(0)",
    "v_add_f32 v0, v1, v2",
]


@settings(max_examples=40)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, len(_TEXTS)), st.integers(0, 1000)), max_size=30),
        min_size=1,
        max_size=3,
    )
)
def test_charging_moves_stall_and_loses_none(waves: list[list[tuple[int, int]]]) -> None:
    builder = a_capture().with_code(*_TEXTS)
    for slot, steps in enumerate(waves):
        builder.with_wave([step(row, stall=stall) for row, stall in steps], slot=slot)

    analysis = traced(builder)
    charges = analysis.charges

    assert int(charges.charged.sum()) == analysis.total_stall
    assert int(charges.given.sum()) == int(charges.received.sum()) == int(charges.stall.sum())
    assert (charges.charged >= 0).all()
    assert charges.list_stall.sum() == charges.stall.sum()
