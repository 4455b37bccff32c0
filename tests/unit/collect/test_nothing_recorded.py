"""An empty recording is explained."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.collect.test_preflight import a_machine
from tests.unit.collect.test_program_files import elf
from wavescope.collect import RecordOptions
from wavescope.collect.recording.obstacles import is_privileged, why_nothing


def test_reasons_name_what_keeps_the_collector_out(tmp_path: Path) -> None:
    machine = a_machine(tmp_path)
    static = tmp_path / "static"
    static.write_bytes(elf(1))
    static.chmod(0o755)
    assert "statically linked" in why_nothing(RecordOptions((str(static),)), {}, machine)[0]
    static.write_bytes(b"#!/bin/sh\n")
    static.chmod(0o4755)
    assert is_privileged(static)
    assert "LD_PRELOAD" in why_nothing(RecordOptions((str(static),)), {}, machine)[0]
    reasons = why_nothing(RecordOptions(("sh",)), os.environ, machine)
    assert "not installed" in reasons[1]


@pytest.mark.parametrize(
    ("command", "changer"),
    [
        (("setpriv", "--reuid", "nobody", "./app"), "setpriv"),
        (("sh", "-c", "cd /srv && /usr/sbin/gosu user ./app"), "gosu"),
        (("./app", "--result", "summary"), ""),
    ],
)
def test_a_program_as_another_user_is_the_likeliest_reason(
    tmp_path: Path, command: tuple[str, ...], changer: str
) -> None:
    reasons = why_nothing(RecordOptions(command), os.environ, a_machine(tmp_path))
    told = f"what {changer} starts as another user cannot write into this recording"

    assert any(reason.startswith(told) for reason in reasons) == bool(changer)


def test_with_a_runtime_the_missing_gpu_is_the_reason(tmp_path: Path) -> None:
    library = tmp_path / "usr/lib/libhsa-runtime64.so.1"
    library.parent.mkdir(parents=True)
    library.touch()
    machine = a_machine(tmp_path)

    assert why_nothing(RecordOptions(("sh",)), os.environ, machine)[1].startswith(
        "this machine has neither an AMD nor an NVIDIA GPU; --softgpu"
    )
    assert len(why_nothing(RecordOptions(("sh",), softgpu=""), os.environ, machine)) == 1


def test_an_nvidia_gpu_without_the_drivers_library_is_the_reason(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()

    reasons = why_nothing(RecordOptions(("sh",)), os.environ, a_machine(tmp_path))

    assert len(reasons) == 2
    assert "(libcuda.so.1) is not found" in reasons[1]


def test_on_an_nvidia_machine_a_missing_libcupti_is_the_reason_and_not_rocm(tmp_path: Path) -> None:
    folder = tmp_path / "usr/lib"
    folder.mkdir(parents=True)
    (folder / "libcuda.so.1").touch()
    answer = '{"version": 12090, "error": 0, "gpus": []}'
    machine = a_machine(tmp_path, answer_of=lambda *_: answer)
    options = RecordOptions(("sh",))

    reasons = why_nothing(options, os.environ, machine)
    (tmp_path / "usr/local/cuda-13.0/lib64").mkdir(parents=True)
    library = tmp_path / "usr/local/cuda-13.0/lib64/libcupti.so.13"
    library.write_bytes(b"\x7fELF")
    with_newer = why_nothing(options, os.environ, machine)
    (tmp_path / "usr/local/cuda-12.9/lib64").mkdir(parents=True)
    (tmp_path / "usr/local/cuda-12.9/lib64/libcupti.so.12").write_bytes(b"\x7fELF")

    assert reasons[1].startswith("no libcupti was found for the program: pip install")
    assert with_newer[1].startswith(
        "no libcupti fits the driver, which runs CUDA 12.9 "
        f"(13.0 ({library}): too new for the driver)"
    )
    assert len(why_nothing(options, os.environ, machine)) == 1
    assert "HSA runtime (lib" in why_nothing(RecordOptions(("sh",), softgpu=""), {}, machine)[1]


def test_a_program_is_judged_and_not_the_linker_that_loads_it(tmp_path: Path) -> None:
    machine = a_machine(tmp_path)
    linker, program = tmp_path / "ld-linux-x86-64.so.2", tmp_path / "program"
    linker.write_bytes(elf(1, 2))
    program.write_bytes(elf(1, 3))
    for path in (linker, program):
        path.chmod(0o755)
    command = (str(linker), "--library-path", "/r", "--argv0", "x", str(program))
    options = RecordOptions(command)

    assert "no process" in why_nothing(options, {}, machine)[0]
    program.write_bytes(elf(1))
    assert why_nothing(options, {}, machine) == [
        f"{program} is statically linked: no library can be loaded into it"
    ]


def test_with_another_runtime_the_machines_own_is_no_reason(tmp_path: Path) -> None:
    machine = a_machine(tmp_path)

    reasons = why_nothing(RecordOptions(("sh",), softgpu="runtime=6.4"), os.environ, machine)

    assert reasons[1].startswith("only the program itself runs on the runtime 6.4")
    assert "not installed" not in " ".join(reasons)


@pytest.mark.parametrize(
    ("command", "profiler", "hint"),
    [
        (("rocprofv3", "--sys-trace", "--", "./my app", "-n", "3"), "rocprofv3", "'./my app' -n 3"),
        (("/opt/rocm/bin/rocprof-compute", "profile", "-n", "x"), "rocprof-compute", "PROGRAM"),
        (("env", "A=1", "rocprofv2", "./app"), "rocprofv2", "PROGRAM"),
        (("ncu", "--set", "full", "--", "./app"), "ncu", "./app"),
        (("compute-sanitizer", "./app"), "compute-sanitizer", "PROGRAM"),
    ],
)
def test_a_profiler_that_is_recorded_is_named_as_the_reason(
    tmp_path: Path, command: tuple[str, ...], profiler: str, hint: str
) -> None:
    (reason,) = why_nothing(RecordOptions(command), {}, a_machine(tmp_path))

    assert reason.startswith(f"{profiler} records the program itself")
    assert f"wavescope trace -- {hint})" in reason


def test_a_program_may_have_a_profilers_name_among_its_arguments(tmp_path: Path) -> None:
    reasons = why_nothing(RecordOptions(("sh", "--", "rocprofv3")), {}, a_machine(tmp_path))

    assert reasons[0].startswith("no process")
