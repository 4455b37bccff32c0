"""`wavescope overhead`: what recording a program costs, measured."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.cli.argument_numbers import natural_number, percentage
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import OVERHEAD_FILE
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_force_flag,
    add_output_flags,
    add_quiet_flag,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.terminal import say
from wavescope.errors import UsageError
from wavescope.units import duration_text

if TYPE_CHECKING:
    from wavescope.analyze.compare.overhead_table import OverheadCheck
    from wavescope.collect.overhead.arms import OverheadOptions
    from wavescope.model.overhead_runs import ArmRun, OverheadRuns, TraceFacts
    from wavescope.model.result import Result

_MODES = ("lite", "standard", "full", "hip")
_MOST_ROUNDS = 1_000


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "command",
        metavar="CMD",
        nargs=argparse.REMAINDER,
        help="program to run with its arguments, after --",
    )
    group = parser.add_argument_group("what is run")
    group.add_argument(
        "--modes",
        metavar="LIST",
        type=_modes,
        default=("lite", "standard", "full"),
        help="recording modes to measure, of lite, standard, full, hip (default: the first three)",
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
        help="runs before that do not count (default 1)",
    )
    group.add_argument(
        "--metric",
        metavar="REGEX|wall|cpu",
        default="wall",
        help="wall time (default), CPU time, or an expression whose first group is a number in the "
        "program's output; its last match counts",
    )
    group.add_argument("--unit", metavar="TEXT", default="", help="what the number is: tok/s")
    group.add_argument(
        "--lower-is-better",
        action="store_true",
        help="the number is a time or a cost; by default it is a rate",
    )
    group.add_argument(
        "--softgpu",
        metavar="SPEC",
        nargs="?",
        const="",
        help="run on software GPUs; --softgpu=gfx90a,gpus=8 chooses chip and number",
    )
    group.add_argument(
        "--seed",
        metavar="N",
        type=natural_number,
        default=0,
        help="of the order of the arms (default 0)",
    )
    _add_result_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _add_result_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("results")
    group.add_argument("--save", metavar="FILE", type=Path, help="keep the measurement as JSON")
    group.add_argument(
        "--load",
        metavar="FILE",
        type=OVERHEAD_FILE,
        help="show a kept measurement instead of running CMD",
    )
    group.add_argument(
        "--against",
        metavar="FILE",
        type=OVERHEAD_FILE,
        action="append",
        help="kept measurement to compare with, oldest first (may be repeated)",
    )
    group.add_argument("--label", metavar="TEXT", default="", help="name of this measurement")
    group.add_argument("--html", metavar="FILE", type=Path, help="write a page too")
    group.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=percentage,
        default=1.0,
        help="cost that does not matter (default 1)",
    )
    group.add_argument(
        "--fail",
        action="store_true",
        help="exit with 1 when a mode really costs more than the threshold",
    )
    add_force_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    _require_free(arguments)
    from wavescope.analyze.compare.overhead_table import (  # noqa: PLC0415  slow to import
        OverheadCheck,
        overhead_result,
    )
    from wavescope.collect.overhead.file import load_runs, save_runs  # noqa: PLC0415

    against = [load_runs(Path(path)) for path in arguments.against or ()]
    runs = _stored(arguments) if arguments.load else _measured(arguments)
    if arguments.save:
        save_runs(runs, arguments.save, force=arguments.force)
    check = OverheadCheck(arguments.threshold)
    result = overhead_result(runs, against, check)
    if arguments.html:
        _write_page(result, arguments.html, force=arguments.force)
    costs = "costs" in result.table("overhead").column("verdict")
    if output.format in FOR_PEOPLE and not output.tables:
        result.tables = [table for table in result.tables if table.rows and table.name != "runs"]
        _shorten(result, check)
    print_result(result, output)
    _tell_files(arguments)
    return 1 if arguments.fail and costs else 0


def _require_free(arguments: argparse.Namespace) -> None:
    """Refuse outputs that exist before hours of runs, not after."""
    from wavescope.formats.output import require_free  # noqa: PLC0415

    for path in (arguments.save, arguments.html):
        if path is not None:
            require_free(path, [], force=arguments.force)


def _stored(arguments: argparse.Namespace) -> OverheadRuns:
    from wavescope.collect.overhead.file import load_runs  # noqa: PLC0415

    if arguments.command:
        raise UsageError("--load shows a kept measurement: no program is run")
    return load_runs(Path(arguments.load))


def _measured(arguments: argparse.Namespace) -> OverheadRuns:
    from wavescope.collect.overhead.arms import measured_arms  # noqa: PLC0415  slow to import

    options = _options(arguments)

    def tell(run: ArmRun, done: int, total: int) -> None:
        if not arguments.quiet:
            say(f"{done}/{total}: round {run.round}, {run.arm}: {_value_text(run, options)}")

    return measured_arms(options, os.environ, _trace_facts, tell)


def _options(arguments: argparse.Namespace) -> OverheadOptions:
    from wavescope.collect.overhead.arms import OverheadOptions  # noqa: PLC0415
    from wavescope.collect.recording.options import RecordMode  # noqa: PLC0415
    from wavescope.model.overhead_runs import CPU, WALL, MetricKind  # noqa: PLC0415

    command = tuple(arguments.command)
    if command[:1] == ("--",):
        command = command[1:]
    if not command:
        raise UsageError("which program?", hint="wavescope overhead -- python3 my_model.py")
    is_time = arguments.metric in (WALL, CPU)
    return OverheadOptions(
        command=command,
        modes=tuple(RecordMode(mode) for mode in arguments.modes),
        metric=MetricKind(
            arguments.metric,
            "ns" if is_time else arguments.unit,
            higher_is_better=not (is_time or arguments.lower_is_better),
        ),
        rounds=arguments.rounds,
        warm_ups=arguments.warm_up,
        softgpu=arguments.softgpu,
        seed=arguments.seed,
        label=arguments.label,
    )


def _value_text(run: ArmRun, options: OverheadOptions) -> str:
    if options.metric.is_time:
        return duration_text(run.value)
    return f"{run.value:g} {options.metric.unit}".rstrip()


def _trace_facts(path: Path) -> TraceFacts:
    """What the trace of a run holds."""
    import numpy as np  # noqa: PLC0415

    from wavescope.formats import open_trace  # noqa: PLC0415  slow to import
    from wavescope.model.op_kinds import OpKind  # noqa: PLC0415
    from wavescope.model.overhead_runs import TraceFacts  # noqa: PLC0415

    with open_trace(path) as trace:
        names = trace.ops["name"][trace.op_kind == OpKind.KERNEL]
        seen, timed = (int(np.maximum(trace.coverage[name], 0).sum()) for name in ("seen", "timed"))
        return TraceFacts(len(trace.ops), len(np.unique(names)), seen, timed, path.stat().st_size)


def _shorten(result: Result, check: OverheadCheck) -> None:
    """Facts for people; programs get all of them."""
    level = 100 * (1 - check.significance)
    facts = result.facts
    result.facts = {
        "command": facts["command"],
        "metric": facts["metric"],
        "round_count": facts["round_count"],
        "intervals": f"{level:g} %, from the rounds' ratios",
    }


def _write_page(result: Result, path: Path, *, force: bool) -> None:
    from wavescope.formats.output import replaced  # noqa: PLC0415
    from wavescope.render.html.page import write_page  # noqa: PLC0415
    from wavescope.render.overhead_page import overhead_page  # noqa: PLC0415

    with (
        replaced(path, [], force=force) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        write_page(overhead_page(result), stream)


def _tell_files(arguments: argparse.Namespace) -> None:
    if arguments.quiet:
        return
    for path in (arguments.save, arguments.html):
        if path is not None:
            say(f"wrote {path}")
    if arguments.save:
        say(f"next: wavescope overhead --against {arguments.save} -- CMD   # with another version")


def _modes(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in _MODES:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(_MODES)}")
    return tuple(mode for mode in _MODES if mode in names)


def _rounds(text: str) -> int:
    value = natural_number(text)
    if not 1 <= value <= _MOST_ROUNDS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of rounds")
    return value


def _rounds_or_none(text: str) -> int:
    return 0 if text == "0" else _rounds(text)


COMMAND = Command(
    "overhead",
    "Measure what recording costs a program: it runs alone and recorded in several modes, in turns "
    "and in an order drawn anew in every round, and only runs of one round are compared. Shows "
    "baseline, recorded and overhead with confidence intervals, what each mode records, and how "
    "that changed since kept measurements. docs/overhead-validation.md tells more.",
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
        Example("wavescope overhead --load now.json --html overhead.html", "a kept one as a page"),
    ),
    _add_arguments,
    _run,
)
