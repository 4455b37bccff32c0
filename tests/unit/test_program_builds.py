"""Test programs: what is compiled, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import program_builds


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The commands that were run; each leaves what it was told to make."""
    ran: list[tuple[str, ...]] = []

    def run(*command: str) -> str:
        ran.append(command)
        if "-o" in command:
            Path(command[command.index("-o") + 1]).touch()
        return ""

    monkeypatch.setattr(program_builds, "_OBJECTS", tmp_path / "objects")
    monkeypatch.setattr(program_builds, "_run", run)
    monkeypatch.setattr(program_builds, "_compiler", lambda source: ("cat", "-O1"))
    return ran


def test_a_source_is_compiled_once_and_again_when_what_it_is_made_of_changes(
    tmp_path: Path, commands: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, header = tmp_path / "a.hip", tmp_path / "a.h"
    source.write_text("1")
    header.write_text("2")

    def compilations(*flags: str) -> int:
        commands.clear()
        (tmp_path / "program").unlink(missing_ok=True)
        program_builds.built_for(None, source, tmp_path / "program", *flags)
        return sum("-c" in command for command in commands)

    assert [compilations(), compilations(), compilations("-ldl")] == [1, 0, 0]
    assert [compilations("-g"), compilations("-g")] == [1, 0]
    header.write_text("3")
    assert [compilations(), compilations()] == [1, 0]
    source.write_text("4")
    assert [compilations(), compilations()] == [1, 0]
    monkeypatch.setattr(program_builds, "_version", lambda compiler: "a newer one")
    assert [compilations(), compilations()] == [1, 0]
