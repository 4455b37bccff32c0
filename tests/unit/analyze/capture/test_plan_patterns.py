"""Every pattern of the plan: found where it is, and not where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.capture_folders import CaptureBuilder, Step, a_capture, step
from tests.counters_builder import counted
from tests.plan_contexts import a_context, exposed_of, found_by
from wavescope.analyze.capture.plan import KernelCounters
from wavescope.analyze.capture.plan.patterns import (
    back_to_back_loads,
    barrier_skew,
    exposed_load,
    lds_before_matrix,
    lds_conflicts,
    load_in_matrix_loop,
    low_occupancy,
    matrix_chain,
    memory_bound,
    scalar_entry,
    scale_load,
    spills,
)
from wavescope.analyze.traffic import TrafficOptions, kernel_traffic
from wavescope.model.chips.chip_table import chip_named

LOAD = "buffer_load_dwordx4 v[8:11], v1, s[0:3], 0 offen"
WAIT = "s_waitcnt vmcnt(0)"
MFMA = "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[4:5], v[6:7], a[0:3]"
LOOP = "s_cbranch_scc1 65530"
SOURCE = "@kernel\ndef attention():\n    for step in steps:\n        v = load(step)\n        acc = mfma(v, acc)\n"


def a_loop(steps: Sequence[Step], rounds: int, *code: str | tuple[str, str]) -> CaptureBuilder:
    """A kernel whose one wave goes round `rounds` times, as rows 1 to n and back."""
    capture = a_capture().with_code(*code).with_source("/k.py", SOURCE)
    return capture.with_wave([*steps] * rounds)


def a_load_between_matrix(stall: int) -> CaptureBuilder:
    return a_loop(
        [step(1), step(2, stall=stall), step(3), step(4)],
        3,
        (LOAD, "/k.py:4"), (WAIT, "/k.py:5"), (MFMA, "/k.py:5"), LOOP,
    )  # fmt: skip


def test_a_load_in_the_matrix_loop(tmp_path: Path) -> None:
    context = a_context(a_load_between_matrix(200), tmp_path)

    (found,) = found_by(load_in_matrix_loop.find, context)

    assert found.where == "k.py:4"
    assert exposed_of(context, found) == 3 * 200 - 2 * 4, "each round's matrix unit works on"
    assert "592 exposed of 600 stalled cycles in 3 executions" in found.evidence
    assert "0 matrix instructions (4 cycles) lie between load and wait" in found.evidence
    assert "13 matrix instructions of 16 cycles would hide it" in found.evidence
    assert found.sketch.before == (
        "for each step:",
        "    v = load(step)  # waits 204 cycles",
        "    acc = mfma(v, acc)",
    )
    assert found.sketch.after[0] == "v = load(step)  # for the first step, or all steps"
    assert found.numbers["matrix_needed"] == 13


def test_a_hidden_load_in_the_matrix_loop_is_no_finding(tmp_path: Path) -> None:
    assert found_by(load_in_matrix_loop.find, a_context(a_load_between_matrix(0), tmp_path)) == []


def test_a_load_in_a_loop_without_matrix_instructions_is_none_of_them(tmp_path: Path) -> None:
    capture = a_loop([step(1), step(2, stall=200), step(3)], 3, LOAD, WAIT, LOOP)
    context = a_context(capture, tmp_path)

    assert found_by(load_in_matrix_loop.find, context) == []
    (found,) = found_by(exposed_load.find, context)
    assert exposed_of(context, found) == 600
    assert "arrives after 204" in found.evidence


def test_matrix_instructions_that_no_wave_reached_make_no_matrix_loop(tmp_path: Path) -> None:
    steps = [step(1), step(2, stall=200), step(3), step(6)]
    capture = a_loop(steps, 3, LOAD, WAIT, "s_cbranch_scc0 2", MFMA, MFMA, LOOP)
    context = a_context(capture, tmp_path)

    assert found_by(load_in_matrix_loop.find, context) == []


def test_a_load_after_which_none_is_left_is_not_to_be_issued_earlier(tmp_path: Path) -> None:
    waits = [step(1), step(2), step(3, stall=400), step(4)]
    last = a_capture().with_code(LOAD, LOAD, WAIT, "v_add_f32 v0, v1, v2").with_wave(waits)
    early = a_capture().with_code(LOAD, WAIT, "v_add_f32 v0, v1, v2", LOAD)
    early = early.with_wave([step(1), step(2, stall=400), step(3), step(4)])

    (found,) = found_by(exposed_load.find, a_context(last, tmp_path / "last"))
    (other,) = found_by(exposed_load.find, a_context(early, tmp_path / "early"))

    assert "all loads are issued before they are waited for" in found.fix
    assert found.sketch.after[0].endswith("# of several elements, or a wider one")
    assert "issue all loads before the first use" in other.fix
    assert other.sketch.after[0].endswith("# with all other loads, before any use")


def test_a_load_that_work_hides_is_not_exposed(tmp_path: Path) -> None:
    capture = a_capture().with_code(LOAD, "v_add_f32 v0, v1, v2", WAIT)

    context = a_context(capture.with_wave([step(1), step(2, issue=300), step(3)]), tmp_path)

    assert found_by(exposed_load.find, context) == []


def loads_in_a_row(count: int, *, stall: int, between: str) -> CaptureBuilder:
    capture = a_capture().with_code(
        *(f"buffer_load_dwordx4 v[{8 + 4 * i}:{11 + 4 * i}], v1, s[0:3], 0 offen" for i in range(count)),
        between,
    )  # fmt: skip
    return capture.with_wave([step(row, stall=stall) for row in range(1, count + 1)])


def test_back_to_back_loads(tmp_path: Path) -> None:
    context = a_context(loads_in_a_row(8, stall=100, between=WAIT), tmp_path)

    found = found_by(back_to_back_loads.find, context)

    assert sum(exposed_of(context, each) for each in found) == 5 * 100, "from the fourth on"
    assert "runs of up to 8 loads" in "".join(each.evidence for each in found)
    assert all("96 % of these loads' time is stall" in each.evidence for each in found)


def test_loads_with_matrix_work_between_them_are_no_run(tmp_path: Path) -> None:
    capture = a_capture().with_code(LOAD, MFMA)
    capture.with_wave([step(1, stall=100), step(2)] * 8)

    assert found_by(back_to_back_loads.find, a_context(capture, tmp_path)) == []


def test_loads_that_do_not_stall_are_no_finding(tmp_path: Path) -> None:
    context = a_context(loads_in_a_row(8, stall=0, between=WAIT), tmp_path)

    assert found_by(back_to_back_loads.find, context) == []


def an_lds_read(*between: str, after: str = MFMA) -> CaptureBuilder:
    code = ("ds_read_b128 v[4:7], v1", *between, "s_waitcnt lgkmcnt(0)", after)
    steps = [step(row) for row in range(1, len(code) + 1)]
    steps[-2] = step(len(code) - 1, stall=64)
    return a_capture().with_code(*code).with_wave(steps)


def test_an_lds_read_directly_before_its_matrix_instruction(tmp_path: Path) -> None:
    context = a_context(an_lds_read(), tmp_path)

    (found,) = found_by(lds_before_matrix.find, context)

    assert exposed_of(context, found) == 64
    assert "4 cycles and 0 matrix instructions lie between read and wait" in found.evidence
    assert found.sketch.after[1].endswith("# all reads first")


def test_an_lds_read_with_matrix_work_before_its_wait_is_none(tmp_path: Path) -> None:
    assert found_by(lds_before_matrix.find, a_context(an_lds_read(MFMA, MFMA), tmp_path)) == []


def test_an_lds_read_that_the_matrix_instruction_does_not_need_is_none(tmp_path: Path) -> None:
    """A wait for the next tile, before a barrier for instance, and then work on this one."""
    after = "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[14:15], v[16:17], a[0:3]"

    assert found_by(lds_before_matrix.find, a_context(an_lds_read(after=after), tmp_path)) == []


def test_an_lds_read_for_other_work_is_none(tmp_path: Path) -> None:
    context = a_context(an_lds_read(after="v_add_f32 v0, v4, v5"), tmp_path)

    assert found_by(lds_before_matrix.find, context) == []


def a_scale(load: str, use: str) -> CaptureBuilder:
    capture = a_capture().with_code(LOAD, load, WAIT, use)
    return capture.with_wave([step(1), step(2), step(3, stall=90), step(4)])


def test_a_scale_loaded_too_close_to_its_use(tmp_path: Path) -> None:
    scale = "buffer_load_dword v20, v1, s[4:7], 0 offen"
    context = a_context(a_scale(scale, "v_mul_f32_e32 v0, v20, v3"), tmp_path)

    (found,) = found_by(scale_load.find, context)

    assert exposed_of(context, found) == 90
    assert "used by `v_mul_f32_e32 v0, v20, v3` (row 4)" in found.evidence
    assert found.sketch.after[0].startswith(scale)


def test_a_wide_load_is_no_scale(tmp_path: Path) -> None:
    wide = "buffer_load_dwordx2 v[20:21], v1, s[4:7], 0 offen"
    context = a_context(a_scale(wide, "v_mul_f32_e32 v0, v20, v3"), tmp_path)

    assert found_by(scale_load.find, context) == []


def test_a_small_load_that_scales_nothing_is_none(tmp_path: Path) -> None:
    index = "buffer_load_dword v20, v1, s[4:7], 0 offen"
    context = a_context(a_scale(index, "v_lshlrev_b32_e32 v0, 2, v20"), tmp_path)

    assert found_by(scale_load.find, context) == []


def waves_at_a_barrier(*arrivals: int) -> CaptureBuilder:
    capture = (
        a_capture().with_code(("s_barrier", "/k.py:3"), "s_endpgm").with_source("/k.py", SOURCE)
    )
    last = max(arrivals)
    for simd, arrival in enumerate(arrivals):
        steps = [step(1, idle=arrival, stall=last - arrival), step(2, issue=40)]
        capture.with_wave(steps, simd=simd)
    return capture


def test_waves_that_wait_for_the_last_one(tmp_path: Path) -> None:
    context = a_context(waves_at_a_barrier(10, 12, 15, 300), tmp_path)

    (found,) = found_by(barrier_skew.find, context)

    assert exposed_of(context, found) == 290 + 288 + 285
    assert "the last wave comes 290 cycles after the first" in found.evidence
    assert "SE0 SIMD3 slot 0 wave 0 is last in 100 %" in found.evidence
    assert found.numbers["median_skew_cycles"] == 290


def waves_of_which_one_waits(load_stall: int, idle: int = 0) -> CaptureBuilder:
    """Three waves come to a barrier at once, a fourth waits for its load first."""
    capture = a_capture().with_code((LOAD, "/k.py:4"), (WAIT, "/k.py:5"), "s_barrier", "s_endpgm")
    capture.with_source("/k.py", SOURCE)
    late = load_stall + idle
    for simd in range(3):
        capture.with_wave([step(1), step(2), step(3, stall=late), step(4, issue=40)], simd=simd)
    capture.with_wave(
        [step(1), step(2, stall=load_stall), step(3, idle=idle), step(4, issue=40)], simd=3
    )
    return capture


def test_a_barrier_shows_what_its_last_wave_waited_for(tmp_path: Path) -> None:
    context = a_context(waves_of_which_one_waits(600), tmp_path)

    assert found_by(barrier_skew.find, context) == []
    (load,) = found_by(exposed_load.find, context)

    assert exposed_of(context, load) == 4 * 600, "of all waves, not of the last alone"
    assert load.where == "k.py:4"
    assert "shows at `s_barrier` (row 3), `s_waitcnt vmcnt(0)` (row 2)" in load.evidence


def test_of_several_waits_before_a_barrier_the_longest_is_to_blame(tmp_path: Path) -> None:
    shuffle = ("ds_bpermute_b32 v2, v3, v8", "s_waitcnt lgkmcnt(0)")
    capture = a_capture().with_code(LOAD, WAIT, *shuffle, "s_barrier", "s_endpgm")
    for simd in range(4):
        load, barrier = (700, 0) if simd == 3 else (100, 600)
        steps = [step(1), step(2, stall=load), step(3), step(4, stall=60), step(5, stall=barrier)]
        capture.with_wave([*steps, step(6, issue=40)], simd=simd)
    context = a_context(capture, tmp_path)

    (load_item,) = found_by(exposed_load.find, context)

    assert found_by(barrier_skew.find, context) == []
    assert exposed_of(context, load_item) == 3 * (100 + 600) + 700


def test_a_wave_that_is_late_for_other_reasons_is_what_the_barrier_waits_for(
    tmp_path: Path,
) -> None:
    context = a_context(waves_of_which_one_waits(200, idle=400), tmp_path)

    (barrier,) = found_by(barrier_skew.find, context)

    assert exposed_of(context, barrier) == 3 * 600
    (load,) = found_by(exposed_load.find, context)
    assert exposed_of(context, load) == 200


def test_a_barrier_is_no_load_of_a_row(tmp_path: Path) -> None:
    context = a_context(waves_of_which_one_waits(600), tmp_path)

    assert found_by(back_to_back_loads.find, context) == []


def test_waves_that_arrive_together_are_none(tmp_path: Path) -> None:
    context = a_context(waves_at_a_barrier(10, 10, 10, 10), tmp_path)

    assert found_by(barrier_skew.find, context) == []


def test_a_matrix_result_read_too_early(tmp_path: Path) -> None:
    capture = a_capture().with_code(MFMA, "v_accvgpr_read_b32 v0, a2")
    context = a_context(capture.with_wave([step(1), step(2, stall=60)]), tmp_path)

    (found,) = found_by(matrix_chain.find, context)

    assert exposed_of(context, found) == 60 - 12, "the matrix unit works for 12 of them"
    assert "the result of a matrix instruction is read before" in found.cause
    assert found.numbers["producer_row"] == 1


def test_accumulating_into_the_same_registers(tmp_path: Path) -> None:
    capture = a_capture().with_code(MFMA, MFMA)
    context = a_context(capture.with_wave([step(1), step(2, stall=60)]), tmp_path)

    (found,) = found_by(matrix_chain.find, context)

    assert found.cause.startswith("matrix instructions accumulate")


def test_independent_matrix_instructions_are_no_chain(tmp_path: Path) -> None:
    other = "v_mfma_f32_16x16x32_fp8_fp8 a[4:7], v[4:5], v[6:7], a[4:7]"
    capture = a_capture().with_code(MFMA, other).with_wave([step(1), step(2, stall=60)])

    assert found_by(matrix_chain.find, a_context(capture, tmp_path)) == []


def test_a_matrix_unit_that_is_busy_is_no_chain(tmp_path: Path) -> None:
    capture = a_capture().with_code(MFMA, MFMA).with_wave([step(1), step(2, stall=12)])

    assert found_by(matrix_chain.find, a_context(capture, tmp_path)) == []


def test_scalar_loads_at_entry(tmp_path: Path) -> None:
    capture = a_capture().with_code("s_load_dwordx4 s[0:3], s[4:5], 0x0", "s_waitcnt lgkmcnt(0)")
    context = a_context(capture.with_wave([step(1), step(2, stall=500)]), tmp_path)

    (found,) = found_by(scalar_entry.find, context)

    assert exposed_of(context, found) == 500
    assert "one after the other" not in found.evidence, "there is one wait"


def test_scalar_loads_later_are_not_at_entry(tmp_path: Path) -> None:
    capture = a_capture().with_code(
        LOAD, "s_load_dwordx4 s[0:3], s[4:5], 0x0", "s_waitcnt lgkmcnt(0)"
    )
    context = a_context(capture.with_wave([step(1), step(2), step(3, stall=500)]), tmp_path)

    assert found_by(scalar_entry.find, context) == []


def test_spills(tmp_path: Path) -> None:
    capture = a_capture().with_code("scratch_load_dword v3, off, off offset:4", WAIT)
    capture.with_wave([step(1, stall=20), step(2, stall=100)]).with_kernel_row(Scratch_Size=64)
    context = a_context(capture, tmp_path)

    (found,) = found_by(spills.find, context)

    assert exposed_of(context, found) == 120
    assert "1 scratch instructions executed 1 times, 64 bytes per work-item" in found.evidence


def test_a_kernels_own_stack_is_spilled_to_without_a_stack_pointer(tmp_path: Path) -> None:
    place = "off, s[0:3], 0 offset:4"
    code = (f"buffer_store_dword v40, {place}", f"buffer_load_dword v40, {place}", WAIT)
    capture = a_capture().with_code(*code)
    capture.with_wave([step(1), step(2), step(3, stall=100)])
    one_way = a_capture().with_code(f"buffer_load_dword v40, {place}", WAIT)
    one_way.with_wave([step(1), step(2, stall=100)])

    (found,) = found_by(spills.find, a_context(capture, tmp_path / "both"))

    assert found.title == "registers are spilled to scratch memory"
    assert found.numbers["scratch_rows"] == 2
    assert found_by(spills.find, a_context(one_way, tmp_path / "one")) == [], "a uniform load"


def test_an_array_in_scratch_memory_is_no_spill(tmp_path: Path) -> None:
    code = ("scratch_store_dword v1, v2, off", "scratch_load_dword v3, v4, off", WAIT)
    capture = a_capture().with_code(*code)
    capture.with_wave([step(1), step(2), step(3, stall=100)])

    (found,) = found_by(spills.find, a_context(capture, tmp_path))

    assert found.title == "an array of each work-item lies in scratch memory"
    assert "make its indices constants" in found.fix


def test_no_spills(tmp_path: Path) -> None:
    capture = a_capture().with_code(LOAD, WAIT).with_wave([step(1), step(2, stall=100)])

    assert found_by(spills.find, a_context(capture, tmp_path)) == []


def counters(**values: float) -> KernelCounters:
    options = TrafficOptions(chip_named("gfx942"))
    (traffic,) = kernel_traffic([counted(("k", 1_000, values))], options)
    return KernelCounters(traffic, values)


def test_bank_conflicts_by_the_counters(tmp_path: Path) -> None:
    conflicts = counters(SQ_LDS_BANK_CONFLICT=40.0, SQ_LDS_IDX_ACTIVE=100.0)
    context = a_context(an_lds_read(), tmp_path, conflicts)

    (found,) = found_by(lds_conflicts.find, context)

    assert found.gain_cycles == round(64 * 0.4)
    assert "40.0 % of the LDS' busy cycles" in found.evidence


def test_no_bank_conflicts_without_counters_that_say_so(tmp_path: Path) -> None:
    few = counters(SQ_LDS_BANK_CONFLICT=1.0, SQ_LDS_IDX_ACTIVE=100.0)

    assert found_by(lds_conflicts.find, a_context(an_lds_read(), tmp_path / "a", few)) == []
    assert found_by(lds_conflicts.find, a_context(an_lds_read(), tmp_path / "b")) == []


def a_kernel_with_registers(vgprs: int, *, stall: int) -> CaptureBuilder:
    return (
        a_capture()
        .with_code(LOAD, WAIT)
        .with_wave([step(1), step(2, stall=stall, issue=100)])
        .with_agent(Name="gfx942", Gfx_Target_Version=90402)
        .with_kernel_row(VGPR_Count=vgprs, Accum_VGPR_Count=0, Workgroup_Size_X=256)
    )


def test_low_occupancy_with_its_limiter(tmp_path: Path) -> None:
    context = a_context(a_kernel_with_registers(280, stall=896), tmp_path)

    (found,) = found_by(low_occupancy.find, context)

    assert found.title == "only 1 wave per SIMD, limited by VGPR"
    assert "free 24 VGPRs (280 -> 256) -> 2 waves per SIMD" in found.fix
    assert found.gain_cycles == 500, "half of 1,000 cycles, less than the 896 exposed"
    assert found.sketch.before == ("VGPR: 280",)


def test_high_occupancy_is_none(tmp_path: Path) -> None:
    context = a_context(a_kernel_with_registers(32, stall=896), tmp_path)

    assert found_by(low_occupancy.find, context) == []


def test_low_occupancy_without_exposed_stall_is_none(tmp_path: Path) -> None:
    context = a_context(a_kernel_with_registers(280, stall=2), tmp_path)

    assert found_by(low_occupancy.find, context) == []


def test_resources_that_the_measured_waves_contradict_are_not_blamed(tmp_path: Path) -> None:
    capture = a_kernel_with_registers(280, stall=896)
    capture.with_wave([step(1), step(2, stall=896, issue=100)], slot=1)

    assert found_by(low_occupancy.find, a_context(capture, tmp_path)) == []


def test_memory_bound_with_clean_traffic(tmp_path: Path) -> None:
    clean = counters(
        TCC_HIT=17.0, TCC_MISS=983.0, TCC_EA0_RDREQ=22_500.0,
        TCC_EA0_RDREQ_32B=0.0, TCC_BUBBLE=22_500.0,
    )  # fmt: skip
    context = a_context(a_load_between_matrix(200), tmp_path, clean)

    (found,) = found_by(memory_bound.find, context)

    assert found.pattern == "memory-bound-clean"
    assert "nothing is left to gain in loads" in found.title
    assert len(found.pieces) == 0


def test_memory_bound_with_wasteful_traffic(tmp_path: Path) -> None:
    scattered = counters(TCC_EA0_RDREQ=100.0, TCC_EA0_RDREQ_32B=80.0, TCC_BUBBLE=0.0)

    (found,) = found_by(
        memory_bound.find, a_context(a_load_between_matrix(200), tmp_path, scattered)
    )

    assert found.numbers["verdict"] == "wasteful"


def test_memory_bound_without_counters_asks_for_them(tmp_path: Path) -> None:
    (found,) = found_by(memory_bound.find, a_context(a_load_between_matrix(200), tmp_path))

    assert found.pattern == "memory-bound-why"


def test_a_kernel_that_computes_is_not_memory_bound(tmp_path: Path) -> None:
    capture = a_capture().with_code(MFMA, MFMA).with_wave([step(1), step(2, stall=60)])

    assert found_by(memory_bound.find, a_context(capture, tmp_path)) == []


WMMA = "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]"


def test_the_same_patterns_in_the_words_of_gfx12(tmp_path: Path) -> None:
    capture = a_capture(gfxip=12).with_code(
        "s_load_b128 s[0:3], s[4:5], 0x0",
        "s_wait_kmcnt 0x0",
        "global_load_b128 v[8:11], v[20:21], off",
        "s_wait_loadcnt 0x0",
        "ds_load_b128 v[12:15], v22",
        "s_wait_dscnt 0x0",
        WMMA,
        "s_cbranch_scc1 65530",
        "s_barrier_signal -1",
        "s_barrier_wait -1",
    )
    one_round = [step(3), step(4, stall=200), step(5), step(6, stall=60), step(7), step(8)]
    for simd in range(2):
        steps = [step(1), step(2, stall=300), *one_round * 4, step(9), step(10, stall=90 * simd)]
        capture.with_wave(steps, simd=simd)
    context = a_context(capture, tmp_path)

    assert context.analysis.chip.name == "gfx1201"
    assert [each.pattern for each in found_by(scalar_entry.find, context)] == ["scalar-entry"]
    assert [each.pattern for each in found_by(lds_before_matrix.find, context)] == [
        "lds-before-matrix"
    ]
    (load,) = found_by(load_in_matrix_loop.find, context)
    assert load.numbers["matrix_needed"] == 13, "204 cycles in steps of 16"
    (barrier,) = found_by(barrier_skew.find, context)
    assert exposed_of(context, barrier) == 86, "the matrix unit works on for 4 cycles"


def test_the_same_patterns_in_the_words_of_gfx11(tmp_path: Path) -> None:
    capture = a_capture(gfxip=11).with_code(
        "global_load_b128 v[8:11], v[20:21], off",
        "global_load_b32 v30, v[22:23], off",
        "s_waitcnt vmcnt(0)",
        "v_mul_f32_e32 v31, v30, v8",
        WMMA,
        "v_add_f32_e32 v40, v0, v1",
    )
    capture.with_wave([step(1), step(2), step(3, stall=120), step(4), step(5), step(6, stall=80)])
    context = a_context(capture, tmp_path)

    (scale,) = found_by(scale_load.find, context)
    assert exposed_of(context, scale) == 120
    (chain,) = found_by(matrix_chain.find, context)
    assert exposed_of(context, chain) == 80 - 28, "32 cycles of WMMA, 4 of them its issue"
