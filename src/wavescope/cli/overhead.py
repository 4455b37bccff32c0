"""`wavescope overhead`: what recording a program costs, measured."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path

import wavescope
from wavescope.api.overhead import costs_too_much
from wavescope.cli.argument_numbers import percentage
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import OVERHEAD_FILE
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_force_flag,
    add_output_flags,
    add_quiet_flag,
    natural_number,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.program_options import (
    add_interception_option,
    add_softgpu_option,
    program_command,
)
from wavescope.cli.terminal import say
from wavescope.errors import EXIT_CHECK_FAILED, EXIT_INCONCLUSIVE, EXIT_OK, UsageError
from wavescope.model.overhead_runs import CPU, WALL, ArmRun, MetricKind
from wavescope.model.result import Result
from wavescope.units import duration_text

_MOST_ROUNDS = 1_000
_MOST_CASE_PARTS = 10
_CASE_KEY = re.compile(r"[A-Za-z][\w-]{0,31}", re.ASCII)
_EXIT_CODES = {True: EXIT_CHECK_FAILED, None: EXIT_INCONCLUSIVE, False: EXIT_OK}
"""With --fail, of whether a mode costs too much."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "command",
        metavar="CMD",
        nargs=argparse.REMAINDER,
        help="program to run, with its arguments; after --",
    )
    group = parser.add_argument_group("what is run")
    group.add_argument(
        "--modes",
        metavar="LIST",
        type=_modes,
        default=wavescope.OverheadOptions.modes,
        help="recording modes to measure: any of lite, standard, full and hip (or cuda, which is "
        "the same); default lite,standard,full",
    )
    group.add_argument(
        "--rounds",
        metavar="N",
        type=_rounds,
        default=5,
        help="how often the program runs alone and in each mode (default 5)",
    )
    group.add_argument(
        "--warm-up",
        metavar="N",
        type=_rounds_or_none,
        default=1,
        help="runs at the beginning that do not count (default 1)",
    )
    group.add_argument(
        "--metric",
        metavar="REGEX|wall|cpu",
        default="wall",
        help="wall time (default), CPU time, or a regular expression whose first group is a number "
        "in the program's output; the last match counts",
    )
    group.add_argument(
        "--unit", metavar="TEXT", default="", help="unit of the number, such as tok/s"
    )
    group.add_argument(
        "--lower-is-better",
        action="store_true",
        help="the number is a time or a cost; by default it is a rate",
    )
    add_softgpu_option(group)
    add_interception_option(group)
    group.add_argument(
        "--seed",
        metavar="N",
        type=natural_number,
        default=0,
        help="seed of the order of the runs (default 0)",
    )
    _add_result_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _add_result_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("results")
    group.add_argument("--save", metavar="FILE", type=Path, help="save the measurement as JSON")
    group.add_argument(
        "--load",
        metavar="FILE",
        type=OVERHEAD_FILE,
        action="append",
        help="show a saved measurement instead of running CMD; several (repeat the flag) beside "
        "one another",
    )
    group.add_argument(
        "--against",
        metavar="FILE",
        type=OVERHEAD_FILE,
        action="append",
        help="saved measurement to compare with, oldest first (may be repeated)",
    )
    group.add_argument("--label", metavar="TEXT", default="", help="name of this measurement")
    group.add_argument(
        "--case",
        metavar="LIST",
        type=_case,
        default=(),
        help="what tells this measurement from others of its version, such as "
        "model=DeepSeek-R1,tp=8,conc=64: columns of the tables",
    )
    group.add_argument(
        "--html", metavar="FILE", type=Path, help="also write a page for the browser"
    )
    group.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=percentage,
        default=1.0,
        help="largest cost that does not matter (default 1)",
    )
    group.add_argument(
        "--fail",
        action="store_true",
        help="exit with code 1 when a mode costs more than the threshold, 5 when that is unclear",
    )
    add_force_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    options = _options(arguments) if arguments.load is None else None
    if arguments.load is not None and arguments.command:
        raise UsageError("--load shows a saved measurement and takes no program")
    if arguments.load is not None and arguments.case:
        raise UsageError("--case belongs to a new measurement; a saved one has its own")

    def say_run(run: ArmRun, done: int, total: int) -> None:
        if options is not None and not arguments.quiet:
            value = _value_text(run.value, options.metric)
            say(f"{done}/{total}: round {run.round}, {run.arm}: {value}")

    result = wavescope.overhead(
        options or arguments.load,
        against=arguments.against or (),
        threshold_percent=arguments.threshold,
        save=arguments.save,
        page=arguments.html,
        force=arguments.force,
        hear=say_run,
    )
    shown = result
    if output.format in FOR_PEOPLE and not output.tables:
        shown = _for_people(result)
    print_result(shown, output)
    if not arguments.quiet:
        _say_files(arguments.save, arguments.html)
    return _EXIT_CODES[costs_too_much(result)] if arguments.fail else EXIT_OK


def _options(arguments: argparse.Namespace) -> wavescope.OverheadOptions:
    is_time = arguments.metric in (WALL, CPU)
    return wavescope.OverheadOptions(
        command=program_command(arguments.command, "overhead --"),
        modes=arguments.modes,
        metric=MetricKind(
            arguments.metric,
            "ns" if is_time else arguments.unit,
            higher_is_better=not (is_time or arguments.lower_is_better),
        ),
        rounds=arguments.rounds,
        warm_ups=arguments.warm_up,
        softgpu=arguments.softgpu,
        interception=arguments.interception,
        seed=arguments.seed,
        label=arguments.label,
        case=arguments.case,
    )


def _value_text(value: float, metric: MetricKind) -> str:
    return duration_text(value) if metric.is_time else f"{value:g} {metric.unit}".rstrip()


def _for_people(result: Result) -> Result:
    """Without single runs, and with few facts; programs get all of them."""
    tables = [table for table in result.tables if table.rows and table.name != "runs"]
    kept = ("command", "metric", "round_count")
    facts = {name: result.facts[name] for name in kept}
    level = 100 * (1 - float(result.facts["significance"] or 0))
    facts["intervals"] = f"{level:g} %, from the rounds' ratios"
    return replace(result, tables=tables, facts=facts)


def _say_files(save: Path | None, page: Path | None) -> None:
    for path in (save, page):
        if path is not None:
            say(f"wrote {path}")
    if save is not None:
        say(f"next: wavescope overhead --against {save} -- CMD   # with another version")


def _modes(text: str) -> tuple[wavescope.RecordMode, ...]:
    names = [name.strip() for name in text.split(",")]
    known = wavescope.RecordMode.words()
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
    meant = {wavescope.RecordMode(name) for name in names}
    return tuple(mode for mode in wavescope.RecordMode if mode in meant)


def _case(text: str) -> tuple[tuple[str, str], ...]:
    parts = [part.partition("=") for part in text.split(",")]
    for key, equals, value in parts:
        if not (_CASE_KEY.fullmatch(key.strip()) and equals and value.strip()):
            raise argparse.ArgumentTypeError(
                f"'{text}' is not a list such as model=DeepSeek-R1,tp=8,conc=64"
            )
    keys = [key.strip() for key, _, _ in parts]
    if len(set(keys)) < len(keys) or len(keys) > _MOST_CASE_PARTS:
        raise argparse.ArgumentTypeError(f"'{text}' names something twice, or too much")
    return tuple((key.strip(), value.strip()) for key, _, value in parts)


def _rounds(text: str) -> int:
    value = natural_number(text)
    if not 1 <= value <= _MOST_ROUNDS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of rounds")
    return value


def _rounds_or_none(text: str) -> int:
    return 0 if text == "0" else _rounds(text)


COMMAND = Command(
    "overhead",
    "Measure what recording costs a program: it runs unrecorded and recorded in several modes, in "
    "a new random order in every round, and only runs of one round are compared. Shows baseline, "
    "recorded and overhead with confidence intervals, what each mode records, and how that changed "
    "since saved measurements. docs/overhead-validation.md explains the method.",
    (
        Example("wavescope overhead -- python3 my_model.py", "wall time in three modes"),
        Example(
            "wavescope overhead --metric 'Throughput: ([0-9.]+)' --unit tok/s -- ./benchmark.sh",
            "what the program itself reports",
        ),
        Example(
            "wavescope overhead --rounds 10 --save now.json --against before.json -- ./hip_program",
            "did recording become slower?",
        ),
        Example("wavescope overhead --softgpu --modes lite,hip -- ./hip_program", "without a GPU"),
        Example(
            "wavescope overhead --load now.json --html overhead.html",
            "a saved measurement as a page",
        ),
        Example(
            "wavescope overhead --case model=DeepSeek-R1,tp=8,conc=64 --save r1.json -- ./bench.sh",
            "a row of a table by model, ranks and concurrency: --load r1.json --load ...",
        ),
    ),
    _add_arguments,
    _run,
)
