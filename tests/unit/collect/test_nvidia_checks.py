"""What the doctor says of NVIDIA GPUs, on machines made of folders with a driver that is played."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.collect.test_preflight import a_machine
from wavescope.collect.cuda_driver import CudaDriver, NvidiaGpu, asked_driver, driver_cuda
from wavescope.collect.doctor.check import Check, CheckState
from wavescope.collect.doctor.nvidia_checks import nvidia_checks
from wavescope.collect.machine import Machine

H200 = ["NVIDIA H200", 9, 0, 132]


def played(root: Path, *, error: int = 0, version: int = 13000, **values: object) -> Machine:
    """A machine with an H200, whose driver answers so."""
    for name in ("nvidiactl", "nvidia0", "nvidia-uvm"):
        put(root / "dev" / name, "")
    put(
        root / "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build\n"
        "GCC version:  gcc version 12.2.0\n",
    )
    put(root / "usr/lib/x86_64-linux-gnu/libcuda.so.1", "")
    answer = {"version": version, "error": error, "gpus": [] if error else [H200]}
    return a_machine(root, **{"answer_of": lambda *_: json.dumps(answer), **values})


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def checks_of(machine: Machine) -> dict[str, Check]:
    return {check.name: check for check in nvidia_checks(machine)}


def test_a_machine_without_nvidia_says_so_in_one_line(tmp_path: Path) -> None:
    (check,) = nvidia_checks(a_machine(tmp_path))

    assert (check.name, check.state, check.found, check.fix) == (
        "NVIDIA GPUs",
        CheckState.MISSING,
        "no driver of NVIDIA's",
        "",
    )


def test_a_machine_that_can_record_shows_driver_gpus_and_libraries(tmp_path: Path) -> None:
    machine = played(tmp_path)
    taken = tmp_path / "usr/local/cuda-13.0/lib64/libcupti.so.13"
    newer = tmp_path / "usr/local/cuda-13.4/lib64/libcupti.so.13"
    nvrtc = tmp_path / "usr/local/cuda-13.0/lib64/libnvrtc.so.13"
    for path in (taken, newer, nvrtc):
        put(path, "\x7fELF")
    put(tmp_path / "proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\n")

    checks = checks_of(machine)

    assert {check.state for check in checks.values()} == {CheckState.OK}
    assert not any(check.fix for check in checks.values())
    assert {name: checks[name].found for name in ("NVIDIA GPUs", "CUDA driver", "CUPTI")} == {
        "NVIDIA GPUs": "NVIDIA H200 (sm_90, 132 SMs)",
        "CUDA driver": "580.159.03, runs CUDA up to 13.0 "
        f"({tmp_path / 'usr/lib/x86_64-linux-gnu/libcuda.so.1'})",
        "CUPTI": f"13.4 ({newer}): newer than the driver, may not work; "
        f"13.0 ({taken}): fits the driver, taken for programs without one",
    }
    assert checks["NVRTC"].found == f"13.0 ({nvrtc})"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (100, "it sees no GPU"),
        (803, "library and kernel driver are of different versions: restart the machine"),
        (7, "cuInit failed with error 7"),
    ],
)
def test_a_driver_that_programs_cannot_use(tmp_path: Path, error: int, words: str) -> None:
    checks = checks_of(played(tmp_path, error=error))

    assert checks["CUDA driver"].state is CheckState.NOT_USABLE
    assert checks["CUDA driver"].found == f"580.159.03: {words}"
    assert "--gpus all" in checks["CUDA driver"].fix
    assert checks["NVIDIA GPUs"].state is CheckState.MISSING


def test_a_container_without_the_drivers_library(tmp_path: Path) -> None:
    machine = played(tmp_path)
    shutil.rmtree(tmp_path / "usr")

    check = checks_of(machine)["CUDA driver"]

    assert check.state is CheckState.MISSING
    assert check.found == "580.159.03: its library libcuda.so.1 is not found"


def test_a_driver_that_does_not_answer_is_no_crash(tmp_path: Path) -> None:
    for answer in ("", "no JSON", "{}", "[]", '{"version": 1, "error": 0, "gpus": 5, "more": 1}'):
        machine = played(tmp_path, answer_of=lambda *_, answer=answer: answer)

        assert asked_driver(machine).trouble == "its library cannot be loaded, or hangs"
        assert driver_cuda(machine) == ()


def test_a_missing_libcupti_comes_with_the_command_that_adds_it(tmp_path: Path) -> None:
    check = checks_of(played(tmp_path))["CUPTI"]

    assert check.state is CheckState.MISSING
    assert check.fix.startswith("pip install nvidia-cuda-cupti")


def test_a_libcupti_that_cannot_have_slices_is_told(tmp_path: Path) -> None:
    library = put(tmp_path / "usr/local/cuda-12.9/lib64/libcupti.so.12", "\x7fELF")

    check = checks_of(played(tmp_path))["CUPTI"]

    assert check.state is CheckState.OK
    assert check.found == (
        f"12.9 ({library}): fits the driver, lite mode has no slices with it, "
        "taken for programs without one"
    )


def test_a_libcupti_that_is_too_new_for_the_driver_is_not_usable(tmp_path: Path) -> None:
    library = put(tmp_path / "usr/local/cuda-13.0/lib64/libcupti.so.13", "\x7fELF")

    check = checks_of(played(tmp_path, version=12040))["CUPTI"]

    assert (check.state, check.found) == (
        CheckState.NOT_USABLE,
        f"13.0 ({library}): too new for the driver",
    )


def test_devices_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = played(tmp_path, error=100)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "nvidia0")

    check = checks_of(machine)["/dev/nvidia*"]

    assert check.state is CheckState.NOT_USABLE
    assert check.found == "no permission to open nvidia0"


def test_a_machine_without_devices_names_what_makes_them(tmp_path: Path) -> None:
    machine = played(tmp_path, error=100)
    shutil.rmtree(tmp_path / "dev")

    check = checks_of(machine)["/dev/nvidia*"]

    assert check.state is CheckState.MISSING
    assert "nvidia-modprobe" in check.fix


def test_other_tools_and_restricted_counters_are_told_apart(tmp_path: Path) -> None:
    environment = {"CUDA_INJECTION64_PATH": "/nsys.so", "NVTX_INJECTION64_PATH": "/n.so"}
    put(tmp_path / "proc/driver/nvidia/params", "A: 1\nRmProfilingAdminOnly: 1\nB\n")

    checks = checks_of(played(tmp_path, environment=environment))

    assert checks["other CUDA tools"].state is CheckState.NOT_USABLE
    assert checks["other CUDA tools"].found == "CUDA_INJECTION64_PATH=/nsys.so"
    assert checks["NVTX"].found == "another tool takes them: NVTX_INJECTION64_PATH=/n.so"
    assert checks["NVIDIA counters"].state is CheckState.OK
    assert checks["NVIDIA counters"].found.startswith("for administrators only (NVreg_Restrict")


@pytest.mark.parametrize(
    ("text", "who"),
    [("RmProfilingAdminOnly: 0\n", "for every user"), ("", "the driver does not say for whom")],
)
def test_counters_that_are_open_or_unknown(tmp_path: Path, text: str, who: str) -> None:
    put(tmp_path / "proc/driver/nvidia/params", text)

    found = checks_of(played(tmp_path))["NVIDIA counters"].found

    assert found == f"{who}; recording does not need them"


PLAYED_DRIVER = """
#include <string.h>
int cuDriverGetVersion(int* v) { *v = 12080; return 0; }
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int* n) { *n = 2; return 0; }
int cuDeviceGet(int* d, int i) { *d = 10 + i; return 0; }
int cuDeviceGetName(char* t, int n, int d) { strcpy(t, d == 10 ? "one" : "two"); return 0; }
int cuDeviceGetAttribute(int* v, int a, int d) { *v = a == 75 ? 8 : a == 76 ? 6 : d; return 0; }
"""


def test_the_driver_is_asked_in_a_process_of_its_own(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source = put(tmp_path / "driver.c", PLAYED_DRIVER)
    library = tmp_path / "libs/libcuda.so.1"
    library.parent.mkdir()
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    machine = Machine(tmp_path, {"LD_LIBRARY_PATH": str(library.parent)}, folder=tmp_path)

    assert driver_cuda(machine) == (12, 8)
    assert asked_driver(machine) == CudaDriver(
        str(library),
        cuda=(12, 8),
        gpus=(NvidiaGpu("one", (8, 6), 10), NvidiaGpu("two", (8, 6), 11)),
    )


def test_a_driver_that_ends_its_process_ends_no_other(tmp_path: Path) -> None:
    broken = put(tmp_path / "libcuda.so.1", "not a library")
    machine = Machine(tmp_path, {"LD_LIBRARY_PATH": str(broken.parent)}, folder=tmp_path)

    assert asked_driver(machine).trouble == "its library cannot be loaded, or hangs"
