"""`wavescope compare`: what changed between traces, and whether repeated runs got slower."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.compare_runs import add_check_flags, figure_options, print_verdict
from wavescope.cli.inputs import add_capture_flag, add_rules_flag, add_traces_argument
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_filter_flags,
    add_output_flags,
    add_quiet_flag,
    add_step_flag,
    selection_from,
)
from wavescope.cli.outputs import print_result, tell_left_out, without_details
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.model.result import Result

PARTS = ("operator", "category", "kernel", "phase", "step")
_WATERFALL_ROWS = 12
_MODEL = "gpu_model"
_MAKER = re.compile(r"\b(?:AMD (?:Instinct )?|NVIDIA )")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces_argument(
        parser, "the baseline first, then the traces to compare with it", required=False
    )
    group = parser.add_argument_group("what is compared")
    group.add_argument(
        "--by",
        metavar="LIST",
        type=_parts,
        help=f"parts to compare, of {', '.join(PARTS)} (default: all that the traces have; phases "
        "and steps of traces without markers only on request)",
    )
    group.add_argument("--full-names", action="store_true", help="list kernels by their full names")
    add_rules_flag(group, "TOML file with your own categories")
    group.add_argument(
        "--linked", action="store_true", help="compare only ops whose launch is in the trace"
    )
    group.add_argument(
        "--no-match", action="store_true", help="do not look for kernels that were renamed"
    )
    add_capture_flag(group)
    add_step_flag(group)
    add_check_flags(parser)
    add_filter_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    selection = selection_from(arguments)
    if arguments.base or arguments.new:
        return print_verdict(arguments, output, selection)
    options = _options(arguments, output)
    activity = f"comparing {len(arguments.traces)} traces"
    with Progress(activity, quiet=arguments.quiet) as progress:
        result = wavescope.compare(
            arguments.traces,
            options,
            captures=arguments.capture,
            selection=selection,
            tell=progress.tell,
        )
    details = () if arguments.by else _summarised_tables(result)
    result, hidden = without_details(result, output, details)
    print_result(_with_short_models(result) if output.format in FOR_PEOPLE else result, output)
    tell_left_out(hidden, output, quiet=arguments.quiet)
    if arguments.capture and not arguments.quiet:
        for sentence in _joined_texts(result):
            say(sentence, label="note")
    return 0


def _options(arguments: argparse.Namespace, output: OutputOptions) -> wavescope.CompareOptions:
    people = output.format in FOR_PEOPLE and not output.tables
    return wavescope.CompareOptions(
        parts=tuple(map(wavescope.Part, arguments.by)) if arguments.by else None,
        figures=figure_options(arguments),
        match_renamed=not arguments.no_match,
        waterfall_rows=min(_WATERFALL_ROWS, output.rows) if people else 0,
        step=arguments.step,
    )


def _with_short_models(result: Result) -> Result:
    """The result with GPUs named without their makers: the rest tells them apart where room is."""
    tables = list(result.tables)
    for place, table in enumerate(tables):
        names = [column.name for column in table.columns]
        if table.name == "traces" and _MODEL in names:
            at = names.index(_MODEL)
            shown = [
                (*row[:at], _MAKER.sub("", str(row[at])) if row[at] else row[at], *row[at + 1 :])
                for row in table.rows
            ]
            tables[place] = table.with_rows(shown)
    return result.with_only_tables(tables)


def _joined_texts(result: Result) -> Iterator[str]:
    """How much of each trace's graph replays the given captures explain."""
    for row in result.table("traces").records():
        share = row.get("joined_percent")
        yield (
            f"trace {row['trace']}: no kernel was launched by a graph: captures say nothing of it"
            if share is None
            else f"trace {row['trace']}: {share:.1f} % of the ops of graph replays fit a capture"
        )


def _summarised_tables(result: Result) -> list[str]:
    """The tables of which another one tells the most."""
    if not any(table.name.startswith("waterfall") for table in result.tables):
        return []
    by_operator = any(table.name == "waterfall_operators" for table in result.tables)
    details = ["operators", "categories", "kernel_totals"]
    return [*details, "waterfall_categories"] if by_operator else details


def _parts(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(PARTS)}")
    return tuple(name for name in PARTS if name in names)


COMMAND = Command(
    "compare",
    "Compare traces: what changed by operator, category, kernel, phase and step, and which parts "
    "account for the difference; kernels that were renamed are found by what they do, also between "
    "MI300X and H100. With repeated runs of two versions a verdict for CI: pass, regression, "
    "improvement or inconclusive. docs/compare.md defines everything.",
    (
        Example("wavescope compare old.db new.db", "what changed, largest first"),
        Example("wavescope compare mi300x.json.gz h100.json.gz", "two vendors, same model"),
        Example(
            "wavescope compare old.json.gz new.json.gz --capture capture.json.gz",
            "operators of replayed graphs, too",
        ),
        Example("wavescope compare old.db new.db --by phase,step", "phases and steps only"),
        Example(
            "wavescope compare a.db b.db c.db --format csv --table kernels", "several versions"
        ),
        Example(
            "wavescope compare --base old1.db old2.db old3.db --new new1.db new2.db new3.db",
            "is the new version slower?",
        ),
    ),
    _add_arguments,
    _run,
)
