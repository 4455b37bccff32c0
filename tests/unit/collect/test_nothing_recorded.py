"""An empty recording is explained."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

from tests.unit.collect.test_preflight import a_machine
from wavescope.collect.nothing_recorded import is_privileged, is_static, why_nothing


def elf(*kinds: int) -> bytes:
    header = b"\x7fELF\x02\x01" + bytes(10)
    header += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, len(kinds), 0, 0, 0)
    return header + b"".join(struct.pack("<I", kind) + bytes(52) for kind in kinds)


def test_static_programs_are_told_from_dynamic_ones(tmp_path: Path) -> None:
    program = tmp_path / "program"
    for content, expected in (
        (elf(1, 2), True),
        (elf(6, 3, 1), False),
        (elf(), False),
        (b"#!/bin/sh\n", False),
        (b"", False),
        (elf(1)[:50], False),
    ):
        program.write_bytes(content)
        assert is_static(program) is expected, content
    assert not is_static(Path(sys.executable).resolve())
    assert not is_static(tmp_path / "absent")


def test_reasons_name_what_keeps_the_collector_out(tmp_path: Path) -> None:
    machine = a_machine(tmp_path)
    static = tmp_path / "static"
    static.write_bytes(elf(1))
    static.chmod(0o755)
    assert "statically linked" in why_nothing([str(static)], {}, machine, softgpu=False)[0]
    static.write_bytes(b"#!/bin/sh\n")
    static.chmod(0o4755)
    assert is_privileged(static)
    assert "LD_PRELOAD" in why_nothing([str(static)], {}, machine, softgpu=False)[0]
    reasons = why_nothing(["sh"], os.environ, machine, softgpu=False)
    assert "not installed" in reasons[1]


def test_with_a_runtime_the_missing_gpu_is_the_reason(tmp_path: Path) -> None:
    library = tmp_path / "usr/lib/libhsa-runtime64.so.1"
    library.parent.mkdir(parents=True)
    library.touch()
    machine = a_machine(tmp_path)

    assert "--softgpu" in why_nothing(["sh"], os.environ, machine, softgpu=False)[1]
    assert len(why_nothing(["sh"], os.environ, machine, softgpu=True)) == 1
