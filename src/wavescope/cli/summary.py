"""`wavescope summary`: where the time goes."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection
from dataclasses import replace

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import (
    add_capture_flag,
    add_rules_flag,
    add_trace_argument,
    joined_text,
)
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputFormat,
    OutputOptions,
    add_filter_flags,
    add_output_flags,
    add_quiet_flag,
    selection_from,
)
from wavescope.cli.outputs import print_result, tell_left_out, without_details
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.errors import UsageError
from wavescope.model.result import Result
from wavescope.units import counted

_HEADER_FACTS = {
    "path": "path",
    "format": "format",
    "sampled": "sampled",
    "selection": "selection",
    "first_timestamp_ns": "first_timestamp_ns",
    "gpu_count": "gpu_count",
    "gpu_span_ns": "gpu_span_ns",
    "busy_percent": "busy_percent",
    "busy_low_percent": "busy_low_percent",
    "busy_high_percent": "busy_high_percent",
    "run_busy_percent": "run_busy_percent",
    "run_busy_low_percent": "run_busy_low_percent",
    "run_busy_high_percent": "run_busy_high_percent",
    "gpus_in_use_percent": "gpus_in_use_percent",
    "busy_and_idle_of": "busy_and_idle_of",
    "op_count": "op_count",
    "listed_op_count": "kernel_launch_count",
    "name_count": "kernel_name_count",
    "gpu_time_ns": "kernel_time_ns",
    "estimated_gpu_time_ns": "estimated_kernel_time_ns",
    "estimated_gpu_time_low_ns": "estimated_kernel_time_low_ns",
    "estimated_gpu_time_high_ns": "estimated_kernel_time_high_ns",
    "other_percent": "other_category_percent",
    "unresolved_symbol_count": "unresolved",
    "marker_count": "marker_count",
    "call_count": "host_call_count",
    "coverage": "coverage",
}
"""What a page of text begins with, and by which words."""
_DETAIL_TABLES = ("queues", "concurrency", "gap_histogram", "largest_copies", "launch_kernels")
"""Left to --table, --json and --format csv: a page of text has no room for them."""
_CALL_TABLE = "calls"
_FRAMES = "python_function"
"""The category of calls that are functions of the program's own stack."""
_WORK_TABLE = "work"
"""Made when it is asked for; `wavescope work` shows it alone."""
_TABLES_OF_PART = {
    "operator": ("operators",),
    "module": ("modules", "module_classes"),
    "shape": ("shapes",),
    "site": ("sites",),
}
"""What --by shows, and which tables need to be asked for."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    group = parser.add_argument_group("kernels")
    group.add_argument(
        "--by",
        choices=("short", "full", "rules", *_TABLES_OF_PART),
        help="group kernels by short name (default), by full name, or as --rules says; or show "
        "their time by operator, module, input shape or call site",
    )
    add_rules_flag(
        group,
        "TOML file with your own names and categories: [[rule]] tables with match, name, "
        "category, note",
    )
    group.add_argument(
        "--per",
        choices=("all", "gpu", "process"),
        default="all",
        help="one list of kernels for all, for each GPU, or for each process (default all)",
    )
    group.add_argument(
        "--all-ops", action="store_true", help="list copies and fills among the kernels"
    )
    add_capture_flag(group)
    add_filter_flags(parser)
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = _output(arguments)
    selection, options = selection_from(arguments), _options(arguments, output)
    with Progress(f"analysing {arguments.trace}", quiet=arguments.quiet) as progress:
        result = wavescope.summary(
            arguments.trace,
            options,
            captures=arguments.capture,
            selection=selection,
            tell=progress.tell,
        )
    facts = result.facts
    _require_part(arguments.by, result)
    if output.format in FOR_PEOPLE:
        header = {shown: facts[key] for key, shown in _HEADER_FACTS.items() if key in facts}
        result = replace(result, facts=header)
    result, hidden = without_details(result, output, _DETAIL_TABLES)
    is_text = output.format is OutputFormat.TEXT and not output.tables
    result, frames = _without_frames(result) if is_text else (result, 0)
    print_result(result, output)
    tell_left_out(hidden, output, quiet=arguments.quiet)
    if frames and not arguments.quiet:
        say(
            f"{counted(frames, 'Python function')} among the host calls are left out here: "
            f"wavescope flame --of host {shlex.quote(arguments.trace)}"
        )
    if arguments.capture and not arguments.quiet:
        say(joined_text(facts), label="note")
    if is_text and facts["marker_count"] and not arguments.quiet:
        say(f"by marked phase: wavescope phases {shlex.quote(arguments.trace)}")
    return 0


def _without_frames(result: Result) -> tuple[Result, int]:
    """The result without Python functions among its host calls, and how many these are.

    Each holds what it calls: those that hold the whole program would come first, with times beside
    which no other can be read.
    """
    tables, left_out = list(result.tables), 0
    for place, table in enumerate(tables):
        if table.name == _CALL_TABLE:
            category = [column.name for column in table.columns].index("category")
            calls = [row for row in table.rows if row[category] != _FRAMES]
            if calls:
                left_out = len(table.rows) - len(calls)
                tables[place] = table.with_rows(calls)
    return result.with_only_tables(tables), left_out


def _output(arguments: argparse.Namespace) -> OutputOptions:
    """How to print; --by an operator's part shows the tables of that part alone."""
    output = OutputOptions.from_arguments(arguments)
    part = _TABLES_OF_PART.get(arguments.by, ())
    return output if output.tables else replace(output, tables=part)


def _require_part(by: str | None, result: Result) -> None:
    tables = _TABLES_OF_PART.get(by or "", ())
    if tables and not any(table.name in tables for table in result.tables):
        raise UsageError(
            f"the trace does not tell GPU time by {by}: nothing of that kind is recorded in it",
            hint="record with torch.profiler.profile(record_shapes=True, with_stack=True)",
        )


def _parts(by: str, tables: Collection[str]) -> tuple[wavescope.OperatorPart, ...]:
    """What operators' time is added up by: what --by or --table asks for, and by operator."""
    asked = [
        part
        for part, names in _TABLES_OF_PART.items()
        if part in ("operator", by) or not set(names).isdisjoint(tables)
    ]
    return tuple(map(wavescope.OperatorPart, asked))


def _options(arguments: argparse.Namespace, output: OutputOptions) -> wavescope.SummaryOptions:
    by = arguments.by or ("rules" if arguments.rules else "short")
    if (by == "rules") != bool(arguments.rules):
        raise UsageError(
            f"--by {by} and --rules cannot be used together"
            if arguments.rules
            else "--by rules needs a file of rules",
            hint="give --rules FILE.toml, which implies --by rules",
        )
    kernels = wavescope.KernelSummaryOptions(
        naming=wavescope.KernelNaming("full" if by == "full" else "short"),
        scope=wavescope.Scope(arguments.per),
        ops=wavescope.OpChoice("all" if arguments.all_ops else "kernels"),
        rules=_rules(arguments.rules),
    )
    operators = wavescope.OperatorOptions(_parts(by, output.tables))
    return wavescope.SummaryOptions(kernels, operators=operators, work=_WORK_TABLE in output.tables)


def _rules(path: str | None) -> wavescope.NameRules | None:
    return wavescope.NameRules.from_document(wavescope.read_rules(path)) if path else None


COMMAND = Command(
    "summary",
    "Show where the time goes: kernels with exact percentiles, categories of work, utilization of "
    "each GPU, what communication and copies are exposed, gaps, host calls, launch latency, what "
    "the trace covers, and findings. docs/definitions.md defines every number.",
    (
        Example("wavescope summary trace.db", "the whole picture"),
        Example("wavescope summary trace.json.gz --marker decode -n 10", "top kernels of decode"),
        Example("wavescope summary trace.db --per gpu --by full", "for each GPU, by full names"),
        Example("wavescope summary trace.json.gz --by module", "GPU time of each nn.Module"),
        Example(
            "wavescope summary decode.json.gz --by shape --capture capture.json.gz",
            "operators and shapes of replayed graphs",
        ),
        Example(
            "wavescope summary trace.json.gz --table work", "how near to the peak operators run"
        ),
        Example("wavescope summary trace.db --rules groups.toml", "kernels grouped as you say"),
        Example("wavescope summary trace.db --table kernels --format csv", "all kernels as CSV"),
    ),
    _add_arguments,
    _run,
)
