"""What is no regular expression is refused alike, whichever option or file has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

WRONG = "'(' is not a regular expression: missing ), unterminated subpattern at position 0"
HINT = "hint: put a backslash before characters that are meant as they are: \\( \\[ \\*"


@pytest.mark.parametrize(
    "arguments",
    [
        ("summary", "TRACE", "--kernel", "("),
        ("summary", "TRACE", "--marker", "("),
        ("summary", "TRACE", "--rules", "RULES"),
        ("steps", "TRACE", "--step", "("),
        ("phases", "TRACE", "--phase-rules", "PHASE_RULES"),
        ("ranks", "TRACE", "--rank-pattern", "("),
        ("trace", "--kernel", "(", "true"),
        ("trace", "--until-marker", "(", "true"),
        ("trace", "--when", "( > 2x median", "true"),
        ("run", "--dormant", "--kernel", "(", "true"),
        ("overhead", "--metric", "(", "--", "true"),
        ("capture", "--kernel", "(", "--", "true"),
    ],
    ids=" ".join,
)
def test_a_way_out_is_named(
    run: Run, trace_file: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    rules, phase_rules = tmp_path / "rules.toml", tmp_path / "phases.toml"
    rules.write_text('[[rule]]\nmatch = "("\nname = "matrix"\n')
    phase_rules.write_text('[[phase]]\nmatch = "("\nphase = "decode"\n')
    paths = {"TRACE": trace_file, "RULES": rules, "PHASE_RULES": phase_rules}

    ran = run(*(paths.get(argument, argument) for argument in arguments))

    assert (ran.code, ran.out) == (2, "")
    assert WRONG in ran.err
    assert HINT in ran.err.splitlines()
