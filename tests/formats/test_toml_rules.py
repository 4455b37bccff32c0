"""Users' TOML files: what cannot be read is one error, whatever the file is for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.counters_builder import a_workload
from wavescope.cli.main import main
from wavescope.errors import MachineError, UnreadableInputError
from wavescope.model.toml_files import LARGEST_BYTES, read_rules
from wavescope.package_files import packaged_toml

DAMAGED = [
    (b"[[rule]]\nmatch = 'a", "it is not TOML"),
    (b"= broken", "it is not TOML"),
    (b"[[rule]]\nmatch = '\xff'\n", "it is not TOML"),
    ("[[rule]]".encode("utf-16"), "it is not TOML"),
    (b"a = " + b"[" * 5_000, "it is not TOML"),
    (b"#" * (LARGEST_BYTES + 1), "too large for a file of rules"),
]


def test_what_a_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes("\ufeffa = 1\n[[rule]]\nmatch = '\u00e4'\n".encode())

    document = read_rules(path)

    assert document.path == str(path)
    assert document.content == {"a": 1, "rule": [{"match": "\u00e4"}]}


@pytest.mark.parametrize(("content", "reason"), DAMAGED)
def test_damaged_files_are_unreadable(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)

    with pytest.raises(UnreadableInputError) as refused:
        read_rules(path)

    assert reason in refused.value.reason
    assert refused.value.path == str(path)
    assert ("quotes" in refused.value.hint) == ("TOML" in reason)


def test_a_missing_file_and_a_folder_are_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="No such file"):
        read_rules(tmp_path / "absent.toml")
    with pytest.raises(UnreadableInputError, match="it is not a regular file"):
        read_rules(tmp_path)


@given(content=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("rules") / "any.toml"
    path.write_bytes(content)

    try:
        assert isinstance(read_rules(path).content, dict)
    except UnreadableInputError as error:
        assert error.exit_code == 3


@pytest.mark.parametrize("content", [content for content, _ in DAMAGED])
def test_every_command_ends_alike(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2}]}'
    )
    folder = a_workload(tmp_path / "w").with_dispatch("k", 10, SQ_WAVES=1).write()
    rules = tmp_path / "mine.toml"
    rules.write_bytes(content)

    for command in (
        ["summary", str(trace), "--rules", str(rules)],
        ["phases", str(trace), "--rules", str(rules)],
        ["phases", str(trace), "--phase-rules", str(rules)],
        ["compare", str(trace), str(trace), "--rules", str(rules)],
        ["metrics", "--metrics", str(rules)],
        ["analyze", "-p", str(folder), "--metrics", str(rules)],
    ):
        assert main(command) == UnreadableInputError.exit_code, command
        assert f"cannot read {rules}: it is" in capsys.readouterr().err


def test_installed_tables_are_read_and_missing_ones_named() -> None:
    assert "gfx942" in packaged_toml("model", "chips", "chips.toml")

    with pytest.raises(MachineError, match=r"lacks names/rules/nothing\.toml") as error:
        packaged_toml("names", "rules", "nothing.toml")
    assert "reinstall" in error.value.hint
