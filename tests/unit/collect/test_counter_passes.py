"""The parts of `wavescope counters collect`: input files, command lines, folders, and what rocprofv3 wrote."""

from __future__ import annotations

import csv
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.counters.metrics import catalogue_for
from wavescope.analyze.counters.planning import ProfileChoice, profile_passes
from wavescope.collect.counters.extra_counters import (
    LONGEST_DEFINITIONS_BYTES,
    ChannelLayout,
    counter_names,
    extra_counters,
    groups_that_fit,
)
from wavescope.collect.counters.rocprofv3_passes import (
    PassEnd,
    PassRequest,
    iteration_range,
    listed_counters,
    pass_command,
    unknown_counters,
    write_perfmon,
)
from wavescope.collect.counters.runs import pc_sampling
from wavescope.collect.counters.system_info import GpuAgent, Workload, pci_address, system_row
from wavescope.collect.counters.workload_folder import (
    Surroundings,
    WorkloadRecord,
    WorkloadRequest,
    free_pass_names,
    opened_record,
    require_no_launcher,
    require_runnable,
    workload_folder,
)
from wavescope.collect.machine import Machine
from wavescope.collect.ranks import Rank
from wavescope.errors import UnreadableInputError, UsageError
from wavescope.formats.counters import read_pass_output, write_counter_csv
from wavescope.model.workload_layout import COUNTED_CHIPS

HEADER = (
    "Correlation_Id,Dispatch_Id,Agent_Id,Process_Id,Kernel_Name,Grid_Size,Workgroup_Size,"
    "Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"
)


def request_in(folder: Path, **values: object) -> PassRequest:
    return PassRequest(("./app",), folder, "gfx942", ChannelLayout(2, 4), **values)  # type: ignore[arg-type]


def test_channels_become_counters_of_their_die() -> None:
    layout = ChannelLayout(2, 4)

    assert counter_names(["SQ_WAVES", "TCC_HIT[]"], layout) == [
        "SQ_WAVES", *(f"TCC_HIT[{channel}]" for channel in range(8)),
    ]  # fmt: skip
    text = extra_counters(["SQ_WAVES", "TCC_HIT[]", "SQ_LEVEL_WAVES_ACCUM"], layout, "gfx942")
    assert "- name: 'TCC_HIT[5]'" in text
    assert "select(TCC_HIT,[DIMENSION_XCC=[1],DIMENSION_INSTANCE=[1]])" in text
    assert "accumulate(SQ_LEVEL_WAVES, HIGH_RES)" in text
    assert text.count("- name:") == 9
    assert extra_counters(["SQ_WAVES"], layout, "gfx942") == ""


LAYOUTS = {
    "gfx906": ChannelLayout(1, 16),
    "gfx908": ChannelLayout(1, 32),
    "gfx90a": ChannelLayout(1, 32),
    "gfx940": ChannelLayout(8, 16),
    "gfx941": ChannelLayout(8, 16),
    "gfx942": ChannelLayout(8, 16),
    "gfx950": ChannelLayout(8, 16),
}
"""The most channels a chip has: all dies of its largest product as one device."""


def all_passes(chip: str) -> list[tuple[str, ...]]:
    """The counters of each pass, when everything that the chip has is asked for."""
    passes = profile_passes(catalogue_for(chip), ProfileChoice((), "", roof_only=False))
    return [tuple(each.counters) for each in passes]


def can_be_started_with(definitions: str) -> bool:
    """Whether the system starts a program with what rocprofv3 makes of the definitions."""
    environment = {"ROCPROF_EXTRA_COUNTERS_CONTENTS": definitions}
    try:
        return subprocess.run(["/bin/true"], env=environment, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize("chip", COUNTED_CHIPS)
def test_every_pass_of_every_chip_can_be_handed_to_the_program(chip: str, tmp_path: Path) -> None:
    request = PassRequest(("./app",), tmp_path, chip, LAYOUTS[chip])

    for counters in all_passes(chip):
        assert can_be_started_with(request.definitions(counters)), counters


@pytest.mark.parametrize("chip", COUNTED_CHIPS)
def test_groups_that_take_turns_are_runs_that_can_be_started(chip: str, tmp_path: Path) -> None:
    request = PassRequest(("./app",), tmp_path, chip, LAYOUTS[chip])
    groups = all_passes(chip)

    runs = groups_that_fit(groups, request.definitions)

    assert [group for run in runs for group in run] == groups
    assert len(runs) == (1 if LAYOUTS[chip].dies == 1 else 5)
    for run in runs:
        assert can_be_started_with(request.definitions([name for each in run for name in each]))
    together = request.definitions([name for group in groups for name in group])
    assert can_be_started_with(together) == (len(runs) == 1)


def test_the_longest_definitions_are_what_the_system_takes() -> None:
    assert can_be_started_with("x" * LONGEST_DEFINITIONS_BYTES)
    assert not can_be_started_with("x" * (LONGEST_DEFINITIONS_BYTES + 1))


def test_older_chips_have_older_names(tmp_path: Path) -> None:
    request = PassRequest(("./app",), tmp_path, "gfx90a", ChannelLayout(1, 2))

    names = request.names(["TCC_EA0_RDREQ_sum", "TCC_EA0_WRREQ[]"])

    assert names == ["TCC_EA_RDREQ_sum", "TCC_EA_WRREQ[0]", "TCC_EA_WRREQ[1]"]
    assert "select(TCC_EA_WRREQ,[DIMENSION_XCC=[0]" in request.definitions(["TCC_EA0_WRREQ[]"])
    assert request_in(tmp_path).names(["TCC_EA0_RDREQ_sum"]) == ["TCC_EA0_RDREQ_sum"]


def test_what_rocprofv3_lists_decides_what_it_knows() -> None:
    known = listed_counters("GPU : 0\nName : gfx90a\nPMC :\nSQ_WAVES  TCC_EA_RDREQ_sum\nTCC_HIT")
    asked = ["SQ_WAVES", "TCC_EA0_RDREQ_sum", "TCC_HIT[]", "SQ_IFETCH_LEVEL_ACCUM", "TA_BUSY_sum"]

    assert unknown_counters(asked, known, "gfx90a") == ["SQ_IFETCH_LEVEL_ACCUM", "TA_BUSY_sum"]
    assert unknown_counters(asked, listed_counters("no GPU"), "gfx90a") == []
    plain = listed_counters("SQ_WAVES TA_BUSY")
    assert unknown_counters(["TA_BUSY_sum"], plain, "gfx90a") == []


@pytest.mark.parametrize(
    ("chip", "method", "interval", "options"),
    [
        ("gfx942", "", 0, "--pc-sampling-method stochastic --pc-sampling-unit cycles 1048576"),
        ("gfx90a", "", 0, "--pc-sampling-method host_trap --pc-sampling-unit time 512"),
        ("gfx942", "host_trap", 9, "--pc-sampling-method host_trap --pc-sampling-unit time 9"),
    ],
)
def test_sampling_suits_the_chip(chip: str, method: str, interval: int, options: str) -> None:
    words = pc_sampling(chip, method, interval).options

    assert " ".join(word for word in words[1:] if word != "--pc-sampling-interval") == options


@pytest.mark.parametrize("cycles", [65535, 1000000, 1 << 15])
def test_cycles_between_samples_are_a_large_power_of_two(cycles: int) -> None:
    with pytest.raises(UsageError, match="cannot be an interval"):
        pc_sampling("gfx942", "stochastic", cycles)


def test_a_command_line_says_what_is_collected(tmp_path: Path) -> None:
    request = request_in(tmp_path, kernels=("gemm(", "add"), iterations=("1", "3:5"))
    perfmon = write_perfmon(request, "pmc_perf_0", ["SQ_WAVES", "TCC_HIT[]"])

    command = pass_command(request, Path("rocprofv3"), perfmon, tmp_path / "out")

    assert perfmon.read_text().splitlines()[0].startswith("pmc: SQ_WAVES TCC_HIT[0]")
    assert command[command.index("-E") + 1] == str(perfmon.with_suffix(".yaml"))
    assert command[command.index("--kernel-include-regex") + 1] == r"gemm\(|add"
    assert command[command.index("--kernel-iteration-range") + 1] == "[1,3-5]"
    assert command[-2:] == ["--", "./app"]


def test_kernels_are_chosen_by_regular_expression(tmp_path: Path) -> None:
    request = request_in(tmp_path, kernel="gemm|add$")
    perfmon = write_perfmon(request, "pmc_perf_0", ["SQ_WAVES"])

    command = pass_command(request, Path("rocprofv3"), perfmon, tmp_path / "out")

    assert command[command.index("--kernel-include-regex") + 1] == "gemm|add$"


@pytest.mark.parametrize("text", ["0", "5:3", "x", "", "1:2:3", "-1"])
def test_launches_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a list of launches"):
        iteration_range([text])


def written(folder: Path, *rows: str, header: str = HEADER, name: str = "7") -> Path:
    place = folder / "pmc_1" / "host"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}_counter_collection.csv").write_text("\n".join([header, *rows]) + "\n")
    return folder


def test_counters_become_columns(tmp_path: Path) -> None:
    written(
        tmp_path,
        '1,1,Agent 4,7,"add(int, int)",64,32,SQ_WAVES,10,1000,1500',
        '1,1,Agent 4,7,"add(int, int)",64,32,SQ_LEVEL_WAVES_ACCUM,2.5,1000,1500',
        '2,2,Agent 6,7,"add(int, int)",64,32,SQ_WAVES,11,2000,2600',
        "damaged",
    )
    output, process_count = read_pass_output(tmp_path)
    write_counter_csv(output, tmp_path / "SQ_LEVEL_WAVES.csv")

    rows = list(csv.DictReader((tmp_path / "SQ_LEVEL_WAVES.csv").read_text().splitlines()))
    assert [row["GPU_ID"] for row in rows] == ["0", "1"]
    assert [row["SQ_WAVES"] for row in rows] == ["10", "11"]
    assert [row["SQ_ACCUM_PREV_HIRES"] for row in rows] == ["2.5", ""]
    assert rows[0]["Kernel_Name"] == "add(int, int)"
    assert (rows[1]["Start_Timestamp"], rows[1]["End_Timestamp"]) == ("2000", "2600")
    assert output.notes.sentences() == ["7_counter_collection.csv: 1 rows could not be read"]
    assert process_count == 1


def test_gpus_keep_their_numbers_when_others_are_idle(tmp_path: Path) -> None:
    written(tmp_path, "1,1,Agent 4,7,k,1,1,SQ_WAVES,1,10,20")
    agents = '"Node_Id","Logical_Node_Id","Agent_Type"\n0,0,"CPU"\n3,1,"GPU"\n4,2,"GPU"\n'
    (tmp_path / "pmc_1" / "host" / "7_agent_info.csv").write_text(agents)

    assert read_pass_output(tmp_path).counters.gpu_ids.tolist() == [1]


def test_times_beyond_a_float_stay_exact(tmp_path: Path) -> None:
    start = 13_386_742_234_691_895
    written(tmp_path, f"1,1,Agent 1,7,k,1,1,SQ_WAVES,1,{start},{start + 1}")

    table = read_pass_output(tmp_path).counters

    assert table.starts_ns is not None
    assert (table.starts_ns.tolist(), table.durations_ns.tolist()) == ([start], [1])
    write_counter_csv(table, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text().endswith(f",{start},{start + 1}\n")


def test_another_header_is_named(tmp_path: Path) -> None:
    written(tmp_path, "1,2", header="Index,Name")

    with pytest.raises(UnreadableInputError, match="it has no column Process_ID"):
        read_pass_output(tmp_path)


@given(text=st.text(max_size=300))
def test_any_text_is_read_or_left_out(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("counters")
    whole = '9,9,Agent 1,7,"k",64,32,SQ_WAVES,10,1000,1500'
    (folder / "1_counter_collection.csv").write_bytes(
        f"{HEADER}\n{whole}\n{text}".encode("utf-8", "surrogatepass")
    )

    table = read_pass_output(folder).counters

    assert table.columns["SQ_WAVES"][0] == 10
    counted = [np.isfinite(table.columns[name]) for name in table.counters]
    assert np.logical_or.reduce(counted).all(), "no dispatch without counters"


def test_a_broken_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "1_results.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 200)

    with pytest.raises(UnreadableInputError, match="cut short"):
        read_pass_output(tmp_path)


ALONE = Surroundings("MI300X_A1", "node7", Rank(), {"JOB": "42"})
IN_JOB = Surroundings("MI300X_A1", "node7", Rank(3, 8), {"JOB": "42"})


@pytest.mark.parametrize(
    ("name", "directory", "around", "expected"),
    [
        ("vcopy", "", ALONE, "workloads/vcopy/MI300X_A1"),
        ("vcopy", "", IN_JOB, "workloads/vcopy/3"),
        ("", "/tmp/%hostname%/%gpumodel%", ALONE, "/tmp/node7/MI300X_A1"),
        ("", "/tmp/out", IN_JOB, "/tmp/out/3"),
        ("", "/tmp/%rank%/x", IN_JOB, "/tmp/3/x"),
        ("", "/tmp/%rank%/x", ALONE, "/tmp/x"),
        ("", "run_%env{JOB}%_%env{NONE}%", ALONE, "run_42_"),
    ],
)
def test_folders_are_named_as_asked(
    name: str, directory: str, around: Surroundings, expected: str
) -> None:
    assert workload_folder(name, directory, around) == Path(expected)


@pytest.mark.parametrize("name", ["", "a/b", "..", "."])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        workload_folder(name, "", ALONE)


@pytest.mark.parametrize(
    ("command", "launcher"),
    [
        (["mpirun", "-n", "2", "./a"], "mpirun"),
        (["/usr/bin/srun", "./a"], "srun"),
        (["env", "A=1", "mpiexec", "./a"], "mpiexec"),
        (["numactl", "-N0", "jsrun", "./a"], "jsrun"),
        (["taskset", "-c", "0-3", "timeout", "10m", "mpirun", "./a"], "mpirun"),
    ],
)
def test_a_launcher_is_refused(command: list[str], launcher: str) -> None:
    with pytest.raises(UsageError, match=f"{launcher} cannot be profiled"):
        require_no_launcher(command)


@pytest.mark.parametrize(
    ("command", "corrected"),
    [
        (
            "mpirun -n 4 ./app -x 'a b'",
            "mpirun -n 4 wavescope counters collect [options] -- ./app -x 'a b'",
        ),
        ("srun", "srun -n RANKS wavescope counters collect [options] -- ./program"),
        ("flux run -N 2 ./app", "flux run -N 2 wavescope counters collect [options] -- ./app"),
        (
            "env A=1 mpirun --hostfile hosts.txt -n 4 sleep 3",
            "env A=1 mpirun --hostfile hosts.txt -n 4 wavescope counters collect [options] -- sleep 3",
        ),
    ],
)
def test_the_corrected_command_is_shown(command: str, corrected: str) -> None:
    with pytest.raises(UsageError) as refused:
        require_no_launcher(shlex.split(command))

    assert refused.value.hint == f"write {corrected}"


@pytest.mark.parametrize("command", [["./mpirun_test"], ["python3", "mpirun"], [], ["env"]])
def test_other_programs_are_not_launchers(command: list[str]) -> None:
    require_no_launcher(command)


@pytest.mark.parametrize(
    ("command", "why"),
    [(["./no-such-program"], "there is no program"), (["python3"], "would wait for input")],
)
def test_what_would_fail_in_every_pass_is_refused(command: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        require_runnable(command)


REQUEST = WorkloadRequest(("./app", "-n", "4"), "gfx90a", ("gemm",), ())


def test_a_folder_remembers_what_was_collected(tmp_path: Path) -> None:
    record = opened_record(tmp_path, REQUEST)
    record.note(["SQ_WAVES"], PassEnd("pmc_perf_0", 0, dispatches=3))
    record.note(["TCC_HIT[]"], PassEnd("pmc_perf_1", 1, failure="no"))
    record.note(["TA_BUSY"], PassEnd("pmc_perf_2", 0, interrupted=True, dispatches=1))
    record.save(tmp_path)

    again = opened_record(tmp_path, REQUEST)

    assert again == record
    assert again.collected() == {"SQ_WAVES"}


def test_a_damaged_memory_is_an_error(tmp_path: Path) -> None:
    WorkloadRecord(REQUEST).save(tmp_path)
    (tmp_path / "wavescope_profile.json").write_text('{"request": 5}')

    with pytest.raises(UsageError, match="is damaged"):
        opened_record(tmp_path, REQUEST)


def test_passes_are_numbered_on() -> None:
    names = ["SQ_LEVEL_WAVES", "pmc_perf_0", "pmc_perf_1", "pmc_perf_2"]

    assert free_pass_names(names, []) == names
    assert free_pass_names(names, ["pmc_perf_0", "pmc_perf_2"]) == [
        "SQ_LEVEL_WAVES", "pmc_perf_1", "pmc_perf_3", "pmc_perf_4",
    ]  # fmt: skip


AGENT = GpuAgent("gfx942", "AMD Instinct MI300X", 29857, 304, 4, 32, 32, 64, 1024, 2100, 1300, {1: 32, 2: 4096})  # fmt: skip


def test_the_machine_is_described(tmp_path: Path) -> None:
    partition = tmp_path / "sys/class/drm/card1/device"
    partition.mkdir(parents=True)
    (partition / "current_compute_partition").write_text("SPX\n")
    (partition / "current_memory_partition").write_text("NPS4\n")

    row = system_row(Workload("w", ("./a b", "c"), ("sol",)), AGENT, Machine(root=tmp_path))

    expected = {
        "workload_name": "w", "command": "'./a b' c", "gpu_model": "MI300X_A1",
        "gpu_arch": "gfx942", "num_xcd": "8", "total_l2_chan": "128", "num_hbm_channels": "32",
        "cu_per_gpu": "304", "sqc_per_gpu": "160", "max_sclk": "2100", "max_mclk": "1300",
        "compute_partition": "SPX", "rocm_version": "",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_the_driver_tells_of_the_gpu_at_its_own_address(tmp_path: Path) -> None:
    facts = {"vbios_version": "113-M3000100-102", "mem_info_vram_total": str(192 << 30)}
    for address, vbios in (("0000:03:00.0", "of a display"), ("0001:c1:00.0", "")):
        folder = tmp_path / "sys/bus/pci/devices" / address
        folder.mkdir(parents=True)
        for name, text in facts.items():
            (folder / name).write_text(f"{vbios or text}\n")
    dmi = tmp_path / "sys/class/dmi/id"
    dmi.mkdir(parents=True)
    (dmi / "bios_vendor").write_text("American Megatrends Inc.\n")
    (dmi / "bios_version").write_text("0602\n")
    agent = replace(AGENT, pci_address=pci_address(1, 0xC1 << 8))

    row = system_row(Workload("w", ("a",), ()), agent, Machine(root=tmp_path))

    assert agent.pci_address == "0001:c1:00.0"
    assert row["vbios"] == "113-M3000100-102"
    assert row["gpu_memory"] == str(192 << 20)  # in KiB, as cpu_memory
    assert row["sbios"] == "American Megatrends Inc.0602"
    assert row["gpu_series"] == "MI300"


def test_memory_shared_with_the_cpu_is_in_the_drivers_topology(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices/0000:01:00.0").mkdir(parents=True)
    for node, location, size in ((0, 0, 7), (1, 0x200, 8), (2, 0x100, 128 << 30)):
        bank = tmp_path / f"sys/class/kfd/kfd/topology/nodes/{node}/mem_banks/0"
        bank.mkdir(parents=True)
        (bank.parent.parent / "properties").write_text(f"location_id {location}\ndomain 0\n")
        (bank / "properties").write_text(f"heap_type 1\nsize_in_bytes {size}\n")
    agent = replace(AGENT, pci_address="0000:01:00.0")

    row = system_row(Workload("w", ("a",), ()), agent, Machine(root=tmp_path))

    assert row["gpu_memory"] == str(128 << 20)
    assert row["vbios"] == ""


def test_a_split_gpu_has_the_dies_of_its_part(tmp_path: Path) -> None:
    for card, kind, how in ((1, "compute", "CPX"), (1, "memory", "NPS4"), (10, "compute", "SPX")):
        folder = tmp_path / f"sys/class/drm/card{card}/device"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"current_{kind}_partition").write_text(how)

    row = system_row(Workload("w", ("a",), ()), AGENT, Machine(root=tmp_path))

    assert (row["compute_partition"], row["memory_partition"]) == ("CPX", "NPS4")
    assert (row["num_xcd"], row["total_l2_chan"]) == ("1", "16")
