"""Workload folders: wide, long, single passes, and everything that can be wrong with them."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wavescope
from tests.counters_builder import a_workload, write_csv
from wavescope.analyze.counters import SampleOrder
from wavescope.analyze.counters.workload_tables import pc_samples
from wavescope.errors import UnreadableInputError
from wavescope.formats.counters import read_workload
from wavescope.model.counters import ACCUMULATED


def test_a_wide_file(tmp_path: Path) -> None:
    folder = (
        a_workload(tmp_path)
        .with_dispatch("a", 10, SQ_WAVES=4, TCC_HIT__0=1, TCC_HIT__2=3)
        .with_dispatch("b, <int>", 30, SQ_WAVES=8, TCC_HIT__0=5, TCC_HIT__2=7)
        .write()
    )

    table = read_workload(folder)

    assert table.kernel_names == ["a", "b, <int>"]
    assert table.durations_ns.tolist() == [10, 30]
    assert table.columns["SQ_WAVES"].tolist() == [4, 8]
    assert table.channels["TCC_HIT"][:, [0, 2]].tolist() == [[1, 3], [5, 7]]
    assert np.isnan(table.channels["TCC_HIT"][:, [1, 3]]).all()
    assert table.facts["max_sclk"] == 1000
    assert table.notes.sentences() == []


def test_a_long_file_is_the_same(tmp_path: Path) -> None:
    maker = (
        a_workload(tmp_path / "wide")
        .with_dispatch("a", 10, SQ_WAVES=4, TCC_HIT__0=1)
        .with_dispatch("a", 30, SQ_WAVES=8, TCC_HIT__0=2)
    )
    wide = read_workload(maker.write())
    maker.folder = tmp_path / "long"

    long = read_workload(maker.write_long())

    assert long.durations_ns.tolist() == wide.durations_ns.tolist()
    assert long.columns["SQ_WAVES"].tolist() == wide.columns["SQ_WAVES"].tolist()
    assert long.columns["Grid_Size"].tolist() == wide.columns["Grid_Size"].tolist()
    assert long.channels["TCC_HIT"][:, 0].tolist() == [1, 2]


def test_the_duration_of_a_long_file_is_the_median_of_exact_differences(tmp_path: Path) -> None:
    rows = [
        {
            "Dispatch_ID": 1,
            "GPU_ID": 0,
            "Kernel_Name": "k",
            "Grid_Size": 1,
            "Workgroup_Size": 1,
            "LDS_Per_Workgroup": 0,
            "Start_Timestamp": (1 << 60) + 1,
            "End_Timestamp": (1 << 60) + 1 + span,
            "Counter_Name": name,
            "Counter_Value": 2,
        }
        for name, span in (("SQ_WAVES", 5), ("SQ_INSTS", 8), ("SQ_LEVEL_WAVES_ACCUM", 6))
    ]
    a_workload(tmp_path).with_dispatch("k", 1).write()
    write_csv(tmp_path / "pmc_perf.csv", rows)

    table = read_workload(tmp_path)

    assert table.durations_ns.tolist() == [6]
    assert table.levels["SQ_LEVEL_WAVES"][ACCUMULATED].tolist() == [2]


def test_single_passes_are_joined_by_kernel_grid_and_occurrence(tmp_path: Path) -> None:
    first = (
        a_workload(tmp_path)
        .with_dispatch("a", 10, grid=64, SQ_WAVES=1)
        .with_dispatch("a", 20, grid=128, SQ_WAVES=2)
        .with_dispatch("b", 30, SQ_WAVES=3)
    )
    first.write("pmc_perf_0.csv")
    second = (
        a_workload(tmp_path)
        .with_dispatch("b", 50, SQ_INSTS=30)
        .with_dispatch("a", 40, grid=128, SQ_INSTS=20)
        .with_dispatch("a", 30, grid=64, SQ_INSTS=10)
    )
    second.write("pmc_perf_1.csv")

    table = read_workload(tmp_path)

    assert table.columns["SQ_WAVES"].tolist() == [1, 2, 3]
    assert table.columns["SQ_INSTS"].tolist() == [10, 20, 30]
    assert table.durations_ns.tolist() == [20, 30, 40]
    assert sorted(table.pass_durations_ns) == ["pmc_perf_0", "pmc_perf_1"]
    assert table.notes.sentences() == []


def test_dispatches_without_a_partner_are_counted(tmp_path: Path) -> None:
    a_workload(tmp_path).with_dispatch("a", 10, SQ_WAVES=1).with_dispatch(
        "a", 10, SQ_WAVES=2
    ).write("pmc_perf_0.csv")
    a_workload(tmp_path).with_dispatch("a", 10, SQ_INSTS=5).write("pmc_perf_1.csv")

    table = read_workload(tmp_path)

    assert table.columns["SQ_WAVES"].tolist() == [1, 2]
    assert table.columns["SQ_INSTS"][0] == 5
    assert np.isnan(table.columns["SQ_INSTS"][1])
    assert "1 of 2 dispatches were not found in this pass" in table.notes.sentences()[0]


def test_passes_that_produced_nothing_are_named(tmp_path: Path) -> None:
    a_workload(tmp_path).with_dispatch("a", 10, SQ_WAVES=1).write("pmc_perf_0.csv")
    (tmp_path / "pmc_perf_1.csv").write_text("Kernel_Name,SQ_INSTS\n")
    (tmp_path / "pmc_perf_2.csv").write_bytes(b"")

    table = read_workload(tmp_path)

    assert table.columns["SQ_WAVES"].tolist() == [1]
    assert table.notes.sentences() == [
        "pmc_perf_1.csv was left out: the pass produced nothing",
        "pmc_perf_2.csv was left out: it has no column Kernel_Name",
    ]


def test_long_passes_beside_spoiled_ones(tmp_path: Path) -> None:
    a_workload(tmp_path).with_dispatch("a", 10, SQ_WAVES=4).write_long("results_pmc_perf_0.csv")
    a_workload(tmp_path).with_dispatch("a", 30, SQ_INSTS=9).write_long("results_pmc_perf_1.csv")
    (tmp_path / "results_pmc_perf_2.csv").write_bytes(b"")
    (tmp_path / "results_pmc_perf_3.csv").write_text("Counter_Name,Counter_Value\nSQ_X,1\n")
    (tmp_path / "SQ_LEVEL_WAVES.csv").write_text('Kernel_Name\n"' + "x" * 200_000)

    table = read_workload(tmp_path)

    assert (table.columns["SQ_WAVES"].tolist(), table.columns["SQ_INSTS"].tolist()) == ([4], [9])
    assert table.durations_ns.tolist() == [20]
    assert [note.partition(" was")[0] for note in table.notes.sentences()] == [
        "results_pmc_perf_2.csv",
        "results_pmc_perf_3.csv",
        "SQ_LEVEL_WAVES.csv",
    ]


def test_counters_that_the_joined_file_lacks_come_from_single_passes(tmp_path: Path) -> None:
    a_workload(tmp_path).with_dispatch("a", 10, SQ_INSTS=5).write("pmc_perf_3.csv")
    a_workload(tmp_path).with_dispatch("a", 10, SQ_WAVES=1).write()

    table = read_workload(tmp_path)

    assert table.columns["SQ_INSTS"].tolist() == [5]


def test_older_names_of_counters_and_facts(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("a", 10, TCC_EA_RDREQ_sum=3)
    del maker.system["num_hbm_channels"]
    maker.with_system(num_memory_channels="16")

    table = read_workload(maker.write())

    assert table.columns["TCC_EA0_RDREQ_sum"].tolist() == [3]
    assert table.facts["num_hbm_channels"] == 16


def test_what_older_collectors_left_out_is_assumed_and_said(tmp_path: Path) -> None:
    maker = a_workload(tmp_path).with_dispatch("a", 10)
    for name in ("num_xcd", "total_l2_chan", "num_hbm_channels", "lds_banks_per_cu"):
        del maker.system[name]
    maker.with_system(gpu_arch="gfx942", gpu_model="MI300A", compute_partition="SPX")

    table = read_workload(maker.write())

    assert (table.facts["num_xcd"], table.facts["total_l2_chan"]) == (6, 96)
    assert "sysinfo.csv has no num_xcd: 6 is assumed" in table.notes.sentences()


@pytest.mark.parametrize("clock", ["0", "", "NA"])
def test_a_clock_of_nothing_is_no_clock(tmp_path: Path, clock: str) -> None:
    table = read_workload(
        a_workload(tmp_path).with_system(max_mclk=clock).with_dispatch("a", 10).write()
    )

    assert "max_mclk" not in table.facts
    assert "sysinfo.csv has no max_mclk" in table.notes.sentences()[0]


def test_cells_without_numbers_are_missing_values(tmp_path: Path) -> None:
    table = read_workload(
        a_workload(tmp_path)
        .with_dispatch("a", 10, SQ_WAVES="", SQ_INSTS="nan")
        .with_dispatch("a", 10, SQ_WAVES="7", SQ_INSTS="inf")
        .with_dispatch("a", 10, SQ_WAVES="spoiled", SQ_INSTS="3")
        .write()
    )

    assert np.isnan(table.columns["SQ_WAVES"]).tolist() == [True, False, True]
    assert np.isnan(table.columns["SQ_INSTS"]).tolist() == [True, True, False]


def test_a_column_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 10, SQ_WAVES=1).write()
    path = folder / "pmc_perf.csv"
    header, row = path.read_text().splitlines()
    path.write_text(f"{header},SQ_WAVES\n{row},99\n")

    table = read_workload(folder)

    assert table.columns["SQ_WAVES"].tolist() == [1]
    assert "column SQ_WAVES is there twice" in table.notes.sentences()[0]


def test_a_truncated_last_row_is_left_out_and_said(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 10).with_dispatch("a", 20).write()
    path = folder / "pmc_perf.csv"
    path.write_text(path.read_text()[:-12])

    table = read_workload(folder)

    assert table.durations_ns.tolist() == [10]
    assert "pmc_perf.csv: 1 rows could not be read" in table.notes.sentences()


def test_names_that_are_no_utf8_and_hostile_ones(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("KERNEL", 10).write()
    path = folder / "pmc_perf.csv"
    path.write_bytes(path.read_bytes().replace(b"KERNEL", b'"bad\xff\x1b[31m</script>,x"'))

    assert read_workload(folder).kernel_names == ["bad\ufffd\x1b[31m</script>,x"]


def test_times_of_spreadsheets_give_no_duration(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 10).write()
    path = folder / "pmc_perf.csv"
    path.write_text(path.read_text().replace("1000,1010", "1.41E+15,1.41E+15"))

    assert read_workload(folder).durations_ns.tolist() == [0]


def test_times_of_their_own_file(tmp_path: Path) -> None:
    a_workload(tmp_path).with_dispatch("a", 10).write("timestamps.csv")
    folder = a_workload(tmp_path).with_dispatch("a", 99).write()
    path = folder / "pmc_perf.csv"
    path.write_text(path.read_text().replace("Start_Timestamp", "x").replace("End_Timestamp", "y"))

    table = read_workload(folder)

    assert table.durations_ns.tolist() == [10]
    assert table.notes.sentences() == ["times are those of timestamps.csv"]


def test_no_times_at_all(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 99).write()
    path = folder / "pmc_perf.csv"
    path.write_text(path.read_text().replace("Start_Timestamp", "x"))

    table = read_workload(folder)

    assert np.isnan(table.durations_ns).all()
    assert "no dispatch has times" in table.notes.sentences()[0]


def test_measured_peaks_with_their_slips_of_spelling(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 10).write()
    (folder / "roofline.csv").write_text("device,HBMBw,hbmBwHigh,L2Bw\n0,1000,1010,0\n\nx,,,\n")

    table = read_workload(folder)

    assert table.ceilings == [{"device": 0, "HBMBw": 1000, "HBMBwHigh": 1010}]
    assert table.notes.sentences() == ["roofline.csv: a row holds no numbers"]


def test_pc_samples(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 10).write()
    write_csv(
        folder / "ps_file_pc_sampling_stochastic.csv",
        [
            {
                "Instruction": instruction,
                "Instruction_Comment": "k.cpp:7",
                "Wave_Issued_Instruction": issued,
                "Stall_Reason": reason,
            }
            for instruction, issued, reason in (
                ("s_waitcnt vmcnt(0)", 0, "X_REASON_WAITCNT"),
                ("s_waitcnt vmcnt(0)", 0, "X_REASON_WAITCNT"),
                ("v_add_f32", 1, ""),
            )
        ],
    )

    samples = read_workload(folder).pc_samples

    assert [(s.instruction, s.sample_count, s.stalled_count, s.stall_reasons) for s in samples] == [
        ("s_waitcnt vmcnt(0)", 2, 2, (("waitcnt", 2),)),
        ("v_add_f32", 1, 0, ()),
    ]


def sampled() -> str:
    """What rocprofv3 writes of one process: two samples of a wait and one of an addition."""
    document = {
        "rocprofiler-sdk-tool": [
            {
                "strings": {
                    "pc_sample_instructions": ["s_waitcnt", "v_add"],
                    "pc_sample_comments": ["k.cpp:1", "k.cpp:2"],
                },
                "kernel_symbols": [{"kernel_id": 7, "formatted_kernel_name": "a"}],
                "buffer_records": {
                    "kernel_dispatch": [{"dispatch_info": {"dispatch_id": 1, "kernel_id": 7}}],
                    "pc_sample_stochastic": [
                        {
                            "record": {
                                "pc": {"code_object_offset": offset},
                                "dispatch_id": 1,
                                "wave_issued": issued,
                                "snapshot": {"stall_reason": "X_REASON_ALU_DEPENDENCY"},
                            },
                            "inst_index": place,
                        }
                        for offset, issued, place in ((64, 0, 0), (64, 0, 0), (8, 1, 1))
                    ],
                },
            }
        ]
    }
    return json.dumps(document)


def test_pc_samples_of_json_have_kernels_and_offsets(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 10).write()
    (folder / "ps_file_results.json").write_text(sampled())

    table = read_workload(folder)
    by_offset = pc_samples(table, SampleOrder.OFFSET).records()

    assert [(row["kernel"], row["offset"], row["instruction"]) for row in by_offset] == [
        ("a", 8, "v_add"),
        ("a", 64, "s_waitcnt"),
    ]
    assert [(row["count"], row["stalled"]) for row in by_offset] == [(1, 0), (2, 2)]
    assert pc_samples(table, kernels=frozenset({"other"})).rows == []


def test_pc_samples_alone_of_several_processes_are_panel_21(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 10).write()
    (folder / "pmc_perf.csv").unlink()
    for pid in (12, 345):
        (folder / f"{pid}_ps_file_results.json").write_text(sampled())

    result = wavescope.counters(folder)

    assert [table.name for table in result.tables] == ["0.1", "21.1"]
    rows = result.table("21.1").records()
    assert [(row["instruction"], row["count"], row["stalled"]) for row in rows] == [
        ("s_waitcnt", 4, 4),
        ("v_add", 2, 0),
    ]
    assert "samples of program counters and no counters" in result.findings[0].evidence


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"rocprofiler-sdk-tool": [{"strings": 3}]}'])
def test_spoiled_extras_leave_the_rest_readable(tmp_path: Path, content: str) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 10).write()
    (folder / "ps_file_results.json").write_text(content)
    (folder / "roofline.csv").write_text('a\n"' + "x" * 200_000)

    table = read_workload(folder)

    assert list(table.pc_samples) == []
    assert [note.partition(" was")[0] for note in table.notes.sentences()] == [
        "roofline.csv",
        "ps_file_results.json",
    ]


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = a_workload(Path(name)).with_dispatch("a", 10, SQ_WAVES=1).write()
        for file in ("pmc_perf.csv", "sysinfo.csv", "SQ_LEVEL_WAVES.csv", "roofline.csv"):
            damaged = folder / file
            kept = damaged.read_bytes() if damaged.is_file() else b""
            damaged.write_bytes(kept[: len(kept) // 2] + content + kept[len(kept) // 2 :])
            try:
                read_workload(folder)
            except UnreadableInputError as error:
                assert str(error).startswith("cannot read")
            damaged.write_bytes(kept)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "sysinfo.csv").unlink(), "it has no sysinfo.csv"),
        (lambda folder: (folder / "sysinfo.csv").write_text("a,b\n"), "it has no row"),
        (
            lambda folder: (folder / "sysinfo.csv").write_text("a,b\n1,2\n"),
            "does not name the chip",
        ),
        (lambda folder: (folder / "pmc_perf.csv").unlink(), "there are no counters in it"),
        (lambda folder: (folder / "pmc_perf.csv").write_text(""), "no column Kernel_Name"),
        (lambda folder: (folder / "pmc_perf.csv").write_text("Kernel_Name,a\n"), "no dispatches"),
        (
            lambda folder: (folder / "pmc_perf.csv").write_bytes(b"\xff" * 10 + b"\x00\x93"),
            "cannot read",
        ),
        (
            lambda folder: (folder / "pmc_perf.csv").write_text(
                "Counter_Name,Counter_Value\nx,1\n"
            ),
            "it has no column",
        ),
        (
            lambda folder: (folder / "pmc_perf.csv").write_text('Kernel_Name\n"' + "x" * 200_000),
            "no dispatches",
        ),
    ],
)
def test_folders_that_cannot_be_read(tmp_path: Path, damage, message: str) -> None:  # type: ignore[no-untyped-def]
    folder = a_workload(tmp_path).with_dispatch("a", 10).write()
    damage(folder)

    with pytest.raises(UnreadableInputError, match=message):
        read_workload(folder)


def test_rows_that_cannot_be_read_are_the_hint_when_no_dispatch_is_left(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("a", 10).write()
    path = folder / "pmc_perf.csv"
    path.write_text(path.read_text().splitlines()[0] + "\na,1\n")

    with pytest.raises(UnreadableInputError, match="it holds no dispatches") as caught:
        read_workload(folder)

    assert caught.value.hint == "pmc_perf.csv: 1 rows could not be read"


def test_kernel_names_with_raw_quotes_keep_their_rows(tmp_path: Path) -> None:
    folder = a_workload(tmp_path).with_dispatch("NAME", 10, SQ_WAVES=4).write()
    path = folder / "pmc_perf.csv"
    path.write_text(path.read_text().replace("NAME", '"cat<"a", 1>"'))

    table = read_workload(folder)

    assert table.kernel_names == ['cat<"a", 1>']
    assert table.columns["SQ_WAVES"].tolist() == [4]


def test_the_folder_above_a_workload_leads_to_it(tmp_path: Path) -> None:
    a_workload(tmp_path / "MI200").with_dispatch("a", 10).write()

    with pytest.raises(UnreadableInputError) as caught:
        read_workload(tmp_path)

    assert caught.value.hint == f"did you mean {tmp_path / 'MI200'}?"


def test_a_file_or_nothing_in_place_of_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")

    with pytest.raises(UnreadableInputError, match="it is a file"):
        read_workload(file)
    with pytest.raises(UnreadableInputError, match="there is no such file or folder"):
        read_workload(tmp_path / "absent")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    folder = a_workload(tmp_path / "closed").with_dispatch("a", 10).write()
    folder.chmod(0)
    try:
        with pytest.raises(UnreadableInputError, match="Permission denied"):
            read_workload(folder)
    finally:
        folder.chmod(0o700)


def test_a_folder_that_is_not_there_is_named_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="there is no such file or folder") as raised:
        read_workload(tmp_path / "none")

    assert "wavescope counters collect" in raised.value.hint
