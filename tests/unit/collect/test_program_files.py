"""Programs are told apart by their files, and scripts lead to what is loaded for them."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from wavescope.collect.program_files import (
    ProgramKind,
    kind_of,
    loaded_program,
    program_and_arguments,
)
from wavescope.errors import UsageError


def elf(*kinds: int) -> bytes:
    header = b"\x7fELF\x02\x01" + bytes(10)
    header += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, len(kinds), 0, 0, 0)
    return header + b"".join(struct.pack("<I", kind) + bytes(52) for kind in kinds)


def a_program(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def test_programs_are_told_apart(tmp_path: Path) -> None:
    for content, expected in (
        (elf(1, 2), ProgramKind.STATIC),
        (elf(6, 3, 1), ProgramKind.DYNAMIC),
        (elf(), ProgramKind.OTHER),
        (b"#!/bin/sh\n", ProgramKind.SCRIPT),
        (b"", ProgramKind.OTHER),
        (elf(1)[:50], ProgramKind.OTHER),
        (b"\x7fELF\x01\x01" + bytes(58), ProgramKind.OTHER),
    ):
        assert kind_of(a_program(tmp_path / "program", content)) is expected, content
    assert kind_of(Path(sys.executable).resolve()) is ProgramKind.DYNAMIC
    assert kind_of(tmp_path / "absent") is ProgramKind.OTHER


@pytest.mark.parametrize(
    ("first_line", "expected"),
    [
        ("#!{folder}/python", ["{folder}/python", "{script}", "1"]),
        ("#! {folder}/python  -u -x ", ["{folder}/python", "-u -x", "{script}", "1"]),
        ("#!/usr/bin/env python", ["python", "{script}", "1"]),
        ("#!/usr/bin/env -S python -u 'a b'", ["python", "-u", "a b", "{script}", "1"]),
    ],
)
def test_of_a_script_its_interpreter_is_loaded(
    first_line: str, expected: list[str], tmp_path: Path
) -> None:
    python = a_program(tmp_path / "python", elf(3))
    line = first_line.format(folder=tmp_path)
    script = a_program(tmp_path / "script", line.encode() + b"\nrest\n")

    found = program_and_arguments(script, ["script", "1"], {"PATH": str(tmp_path)})

    assert found == (python, [w.format(folder=tmp_path, script=script) for w in expected])


def test_a_script_may_be_run_by_a_script(tmp_path: Path) -> None:
    program = a_program(tmp_path / "program", elf(3))
    inner = a_program(tmp_path / "inner", f"#!{program} -i\n".encode())
    outer = a_program(tmp_path / "outer", f"#!{inner} -o\n".encode())

    assert program_and_arguments(outer, ["outer", "1"], {}) == (
        program,
        [str(program), "-i", str(inner), "-o", str(outer), "1"],
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"#!", "names no interpreter"),
        (b"#! \n", "names no interpreter"),
        (b"#!/no/such/program\n", "'/no/such/program' of .* does not exist"),
        (b"#!{script}\n", "and so on"),
        (b"#!/usr/bin/env -S python 'x\n", "cannot be read: No closing quotation"),
        (b"#!/usr/bin/env -S\n", "names no interpreter"),
    ],
)
def test_scripts_without_an_interpreter_are_refused(
    content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "script"
    script = a_program(path, content.replace(b"{script}", str(path).encode()))

    with pytest.raises(UsageError, match=message):
        program_and_arguments(script, ["script"], {})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["app", "--argv0", "x"], "app"),
        (["/r/ld-linux-x86-64.so.2", "--library-path", "/l", "./app", "ld.so"], "./app"),
        (["ld.so", "--inhibit-cache", "--argv0", "x", "app"], "app"),
        (["/lib/ld-musl-x86_64.so.1", "app"], "app"),
        (["ld-2.31.so", "app"], "app"),
        (["ld.so", "--help"], "ld.so"),
        (["ld.so", "--argv0"], "ld.so"),
        (["ld", "-o", "x"], "ld"),
        (["ld-linux-tool", "x"], "ld-linux-tool"),
    ],
)
def test_a_linker_is_looked_through(command: list[str], expected: str) -> None:
    assert loaded_program(command) == expected
