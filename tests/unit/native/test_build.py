"""Building from source: with any C++17 compiler, and not without one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[3] / "native"


def configured(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["cmake", "-S", NATIVE, "-B", folder, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_without_a_compiler_one_sentence_says_what_is_missing(tmp_path: Path) -> None:
    done = configured(tmp_path, CXX="/nonexistent/c++")

    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "wavescope needs a C++17 compiler to be built from source, and there is none" in said
    assert "apt-get install g++" in said


@pytest.mark.parametrize(
    ("options", "is_strict"), [((), False), (("-DWAVESCOPE_WARNINGS_AS_ERRORS=ON",), True)]
)
def test_warnings_stop_only_the_builds_of_developers(
    tmp_path: Path, options: tuple[str, ...], is_strict: bool
) -> None:
    assert configured(tmp_path, *options).returncode == 0

    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    assert len(commands) > 50
    assert {"-Werror" in command["command"] for command in commands} == {is_strict}
