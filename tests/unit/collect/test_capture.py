"""The input file for rocprofv3, what must be there before it runs, and the folders it leaves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wavescope.collect.capture import (
    CaptureOptions,
    capture,
    command_line,
    find_rocprofv3,
    input_text,
)
from wavescope.collect.capture.options import iteration_range
from wavescope.collect.capture.rocprofv3 import find_decoder, nothing_traced_hint, trace_folders
from wavescope.collect.launcher import ProgramEnd
from wavescope.errors import MachineError, UsageError


def some_options(**changes: object) -> CaptureOptions:
    values: dict[str, object] = {"command": ("./app", "-n", "3"), "kernel": "pa_decode"}
    return CaptureOptions(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3-4", "[3-4]"),
        ("1,3", "[1, 3]"),
        (" 1, 3-5 ,7", "[1, 3-5, 7]"),
        ("2-2", "[2]"),
    ],
)
def test_launches_are_a_set_in_one_pair_of_brackets(text: str, expected: str) -> None:
    assert iteration_range(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0-2", "4-3", "[3-4]", "a", "1;2", "-1"])
def test_launches_that_cannot_be(text: str) -> None:
    with pytest.raises(UsageError, match="is not a list of launches"):
        iteration_range(text)


def test_the_input_file() -> None:
    options = some_options(
        kernel=r'gemm_.*"x"\d', iterations="3-4", target_cu=2, shader_engine_mask=0x11,
        buffer_bytes=0xC000000, output=Path("out dir"), decoder=Path("/opt/decoder"),
    )  # fmt: skip

    assert input_text(options) == (
        "jobs:\n"
        "  -\n"
        '    kernel_include_regex: "gemm_.*\\"x\\"\\\\d"\n'
        '    kernel_iteration_range: "[3-4]"\n'
        "    output_file: out\n"
        '    output_directory: "out dir"\n'
        "    output_format: [csv]\n"
        "    truncate_kernels: true\n"
        "    kernel_trace: true\n"
        "    advanced_thread_trace: true\n"
        "    att_target_cu: 2\n"
        '    att_shader_engine_mask: "0x11"\n'
        '    att_simd_select: "0xf"\n'
        '    att_buffer_size: "0xc000000"\n'
        '    att_library_path: ["/opt/decoder"]\n'
    )


def test_the_command_keeps_the_programs_arguments_apart() -> None:
    assert command_line(some_options(output=Path("out"))) == [
        "rocprofv3", "-i", "out/wavescope_att_input.yaml", "--", "./app", "-n", "3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": ""},
        {"kernel": "("},
        {"target_cu": 16},
        {"shader_engine_mask": 0},
        {"simd_select": 1 << 40},
        {"buffer_bytes": 1000},
        {"buffer_bytes": 3 << 30},
        {"iterations": "0"},
    ],
)
def test_options_that_cannot_be(changes: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        some_options(**changes)


def installed(folder: Path, *, decoder: bool = True) -> dict[str, str]:
    """An environment with an empty program called rocprofv3, and perhaps the decoder."""
    program = folder / "bin" / "rocprofv3"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (folder / "lib").mkdir()
    if decoder:
        (folder / "lib" / "librocprof-trace-decoder.so.0").touch()
    return {"PATH": str(program.parent), "ROCM_PATH": str(folder / "nothing")}


def test_what_is_missing_is_said_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="rocprofv3 is not installed") as error:
        find_rocprofv3({"PATH": str(tmp_path), "ROCM_PATH": str(tmp_path)})
    assert "rocprofiler-sdk" in error.value.hint

    environment = installed(tmp_path / "rocm", decoder=False)
    with pytest.raises(MachineError, match=r"librocprof-trace-decoder\.so is not in") as error:
        find_decoder(some_options(), find_rocprofv3(environment), environment)
    assert "--decoder" in error.value.hint


def test_the_decoder_is_looked_for_where_rocprofv3_looks(tmp_path: Path) -> None:
    environment = installed(tmp_path / "rocm")
    program = find_rocprofv3(environment)
    own = tmp_path / "own"
    own.mkdir()
    (own / "librocprof-trace-decoder.so").touch()

    assert find_decoder(some_options(), program, environment).parent == tmp_path / "rocm" / "lib"
    stated = environment | {"ROCPROF_ATT_LIBRARY_PATH": str(own)}
    assert find_decoder(some_options(), program, stated).parent == own
    assert find_decoder(some_options(decoder=own), program, environment).parent == own


def test_only_folders_of_this_run_count(tmp_path: Path) -> None:
    environment = installed(tmp_path / "rocm")
    output = tmp_path / "out"
    old = output / "ui_output_agent_7_dispatch_1"
    old.mkdir(parents=True)
    os.utime(old, ns=(1, 1))
    seen: list[list[str]] = []

    def run(command: list[str], _: object) -> ProgramEnd:
        seen.append(command)
        for name in ("pass_1/ui_output_agent_7_dispatch_12", "ui_output_agent_7_dispatch_3"):
            (output / name).mkdir(parents=True)
        return ProgramEnd(0)

    end, folders = capture(some_options(output=output), environment, run)

    assert end.status == 0
    assert [path.name for path in folders] == [
        "ui_output_agent_7_dispatch_3",
        "ui_output_agent_7_dispatch_12",
    ]
    assert seen[0][-3:] == ["./app", "-n", "3"]
    assert (output / "wavescope_att_input.yaml").read_text().startswith("jobs:\n")


def test_a_run_that_traced_nothing_is_an_error_with_a_hint(tmp_path: Path) -> None:
    options = some_options(output=tmp_path / "out")

    with pytest.raises(MachineError, match="left no thread trace in") as error:
        capture(options, installed(tmp_path / "rocm"), lambda *_: ProgramEnd(0))
    assert error.value.hint == nothing_traced_hint(options, ProgramEnd(0))


def test_folders_are_not_looked_for_through_links(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "ui_output_agent_1_dispatch_1"
    elsewhere.mkdir(parents=True)
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "elsewhere")

    assert trace_folders(root) == []


def test_why_nothing_was_traced() -> None:
    assert "did not end well" in nothing_traced_hint(some_options(), ProgramEnd(3))
    assert "Try --iterations 1" in nothing_traced_hint(some_options(), ProgramEnd(0))
