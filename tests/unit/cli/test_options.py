"""Flags become plain values."""

from __future__ import annotations

import argparse

import pytest

from tests.unit.cli.conftest import Run
from wavescope.cli.commands import COMMANDS, CommandEntry, command_of, entry_for
from wavescope.cli.options import (
    OutputFormat,
    OutputOptions,
    add_filter_flags,
    add_output_flags,
    numbers,
    regular_expression,
    row_count,
    selection_from,
)
from wavescope.errors import UsageError
from wavescope.model.selection import Selection

OWN_MEANING = {
    ("counters", "-n"),
    ("counters collect", "-n"),
    ("phases", "--marker"),
    ("trace", "--kernel"),
    ("run", "--kernel"),
}
"""Spellings of tools that people know, and options that are declared elsewhere."""


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_filter_flags(parser)
    add_output_flags(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", (0,)), ("0,2", (0, 2)), ("0-3,7", (0, 1, 2, 3, 7)), (" 1 , 2", (1, 2))],
)
def test_lists_of_numbers(text: str, expected: tuple[int, ...]) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize("text", ["", "a", "1,", "-1", "3-1", "0-99999999", "1-", str(2**64)])
def test_what_is_no_list_of_numbers(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        numbers(text)


@pytest.mark.parametrize("text", ["-1", "x", "1.5", "9" * 20])
def test_what_is_no_number_of_rows(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        row_count(text)


def test_no_filters_select_everything() -> None:
    assert selection_from(parsed()) == Selection()


def test_all_filters_reach_the_selection() -> None:
    arguments = parsed(
        *("--gpu", "0,1", "--rank", "3", "--pid", "42", "--kernel", "gemm.*", "--marker", "decode"),
        *("--start", "25%", "--end", "10ms"),
    )

    assert selection_from(arguments) == Selection(
        start="25%",
        end="10ms",
        gpus=(0, 1),
        processes=(42,),
        ranks=(3,),
        kernel="gemm.*",
        marker="decode",
    )


def test_a_bad_pattern_is_told_before_any_work() -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        selection_from(parsed("--kernel", "(("))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), OutputOptions(OutputFormat.TEXT, 20)),
        (("-n", "5"), OutputOptions(OutputFormat.TEXT, 5)),
        (("--format", "markdown"), OutputOptions(OutputFormat.MARKDOWN, 20)),
        (("--json",), OutputOptions(OutputFormat.JSON, 0)),
        (("--format", "csv", "-n", "3"), OutputOptions(OutputFormat.CSV, 3)),
        (("--table", "a", "--table", "b"), OutputOptions(OutputFormat.TEXT, 20, ("a", "b"))),
    ],
)
def test_people_get_the_first_rows_and_programs_all(
    arguments: tuple[str, ...], expected: OutputOptions
) -> None:
    assert OutputOptions.from_arguments(parsed(*arguments)) == expected


def test_two_formats_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot be used together"):
        OutputOptions.from_arguments(parsed("--json", "--format", "csv"))


def options_of(entry: CommandEntry) -> dict[str, argparse.Action]:
    return command_of(entry).parser()._option_string_actions


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_options_mean_the_same_on_every_command(entry: CommandEntry) -> None:
    options = options_of(entry)

    for flag in ("--kernel", "--marker"):
        if flag in options and (entry.name, flag) not in OWN_MEANING:
            assert options[flag].metavar == "REGEX"
            assert options[flag].nargs is None
            assert options[flag].type is regular_expression
    if "-n" in options and (entry.name, "-n") not in OWN_MEANING:
        assert options["-n"].option_strings == ["-n", "--rows"]
        assert options["-n"].type is row_count


@pytest.mark.parametrize(
    ("name", "flag", "spelled"),
    [
        ("profile", "-n", ["-n", "--name"]),
        ("analyze", "-n", ["-n", "--normal-unit"]),
        ("analyze", "-k", ["-k"]),
        ("roofline", "-k", ["-k"]),
        ("profile", "-k", ["-k"]),
    ],
)
def test_options_of_other_tools_keep_their_spelling(
    name: str, flag: str, spelled: list[str]
) -> None:
    assert options_of(entry_for(name))[flag].option_strings == spelled


def test_a_pattern_is_refused_while_the_command_line_is_read() -> None:
    with pytest.raises(UsageError, match=r"'a\(\(' is not a regular expression"):
        parsed("--marker", "a((")


@pytest.mark.parametrize(
    "line",
    [
        ("profile", "--attach-pid", "abc"),
        ("profile", "--attach-duration-msec", "-1"),
        ("ceilings", "--device", "first"),
        ("counters", "DIR", "--decimal", "two"),
    ],
)
def test_what_is_no_number_of_rows_is_not_called_one(run: Run, line: tuple[str, ...]) -> None:
    ran = run(*line)

    assert ran.code == 2
    assert f"'{line[-1]}' is not a number from 0 on" in ran.err
