"""`wavescope phases`: what each phase of a program did on the GPUs."""

from __future__ import annotations

import argparse
from dataclasses import replace

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_rules_flag, add_trace_argument, category_rules
from wavescope.cli.options import (
    FOR_PEOPLE,
    OutputOptions,
    add_marker_flag,
    add_output_flags,
    add_quiet_flag,
    numbers,
)
from wavescope.cli.outputs import print_result
from wavescope.cli.progress import Progress
from wavescope.cli.terminal import say
from wavescope.model.result import Result, ResultTable, Value
from wavescope.units import counted, duration_text

_KERNELS_SHOWN = 10
_PHASES_SHOWN = 20
_OWN_SHARE = 20
"""A phase of which less than a 20th of the ops are its own repeats what its parts show."""
_NO_RANGES = (
    "the trace has no marker ranges, so phases are found by names and structure; to mark them use "
    "roctx, NVTX or torch.profiler.record_function"
)
_FEW_RANGES = (
    "the marker ranges of this trace show one phase, or hold less than half of the GPU time: "
    "phases are found by names and structure; --marker . shows the ranges"
)
_HEADER_FACTS = ("path", "sampled", "selection", "op_count", "range_count", "attribution")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_trace_argument(parser)
    group = parser.add_argument_group("phases")
    group.add_argument(
        "--per",
        choices=("all", "process", "thread"),
        default="all",
        help="one list of phases for all, for each process, or for each thread (default all)",
    )
    add_marker_flag(
        group, "only phases with a marker whose text contains a match, such as '^decode'"
    )
    group.add_argument(
        "--keep-numbers",
        action="store_true",
        help="keep 'step 1' and 'step 2' apart instead of merging them into 'step *'",
    )
    group.add_argument("--full-names", action="store_true", help="list kernels by their full names")
    add_rules_flag(
        group,
        "TOML file with your own names and categories: [[rule]] tables with match, name, "
        "category, note",
    )
    group.add_argument(
        "--without-markers",
        action="store_true",
        help="find phases by kernel names and structure, even where markers show them",
    )
    add_rules_flag(
        group,
        "TOML file with your own signs of phases, for use without markers: [[phase]] tables with "
        "match, phase, weight",
        "--phase-rules",
    )
    filters = parser.add_argument_group("filters")
    filters.add_argument(
        "--gpu", metavar="N,...", type=numbers, help="only ops on these GPUs: 0,2 or 0-3"
    )
    filters.add_argument(
        "--rank", metavar="N,...", type=numbers, help="only processes with these ranks"
    )
    filters.add_argument(
        "--pid", metavar="N,...", type=numbers, help="only processes with these process ids"
    )
    add_output_flags(parser)
    add_quiet_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    output = OutputOptions.from_arguments(arguments)
    for_people = output.format in FOR_PEOPLE and not output.tables
    options = _options(arguments, for_people=for_people)
    with Progress(f"analysing {arguments.trace}", quiet=arguments.quiet) as progress:
        result = wavescope.phases(
            arguments.trace, options, selection=_selection(arguments), tell=progress.tell
        )
    result = replace(result, facts={"path": arguments.trace, **result.facts})
    if not arguments.quiet:
        _tell_source(result, arguments.marker)
    if for_people:
        result = _for_people(result, most=_PHASES_SHOWN if arguments.rows != 0 else None)
        output = replace(output, rows=0)
    print_result(result, output)
    return 0


def _selection(arguments: argparse.Namespace) -> wavescope.Selection:
    return wavescope.Selection(
        gpus=arguments.gpu or (), processes=arguments.pid or (), ranks=arguments.rank or ()
    )


def _options(arguments: argparse.Namespace, *, for_people: bool) -> wavescope.PhaseOptions:
    asked = arguments.rows
    kernels = asked if asked is not None else _KERNELS_SHOWN if for_people else 0
    return wavescope.PhaseOptions(
        scope=wavescope.PhaseScope(arguments.per),
        merge_numbers=not arguments.keep_numbers,
        marker=arguments.marker,
        use_markers=not arguments.without_markers,
        kernels=kernels or None,
        full_names=arguments.full_names,
        rules=category_rules(arguments.rules),
        phase_rules=wavescope.PhaseRules.from_document(wavescope.read_rules(arguments.phase_rules))
        if arguments.phase_rules
        else None,
    )


def _tell_source(result: Result, marker: str) -> None:
    """Say why phases are not those that are marked."""
    if not result.facts["op_count"]:
        return
    if result.facts.get("range_count") == 0:
        say(_NO_RANGES, label="note")
    elif result.facts["source"] != "markers" and result.facts.get("range_count"):
        say(_FEW_RANGES, label="note")
    elif marker and not result.table("phases").rows:
        say(f"no phase matches '{marker}'", label="note")


def _for_people(result: Result, most: int | None) -> Result:
    """One table of kernels for each phase, headed as `=== prefill (74 ops, ...) ===`.

    Of very many phases those with most GPU time are kept, in their order.
    """
    phases, kernels = _largest(result.table("phases"), most), result.table("phase_kernels")
    width = [column.name for column in phases.columns].index("path") + 1
    by_phase: dict[tuple[Value, ...], list[tuple[Value, ...]]] = {}
    for row in kernels.rows:
        by_phase.setdefault(row[:width], []).append(row[width:])
    pages = [
        ResultTable(
            "phase_kernels",
            _title(row[: width - 1], record),
            kernels.columns[width:],
            by_phase[row[:width]],
        )
        for row, record in zip(phases.rows, phases.records(), strict=True)
        if row[:width] in by_phase and _has_page(record)
    ]
    facts = {key: result.facts[key] for key in _HEADER_FACTS if key in result.facts}
    insights = [table for table in result.tables if table.name == "phase_insights"]
    estimates = [table for table in result.tables if table.name == "phase_estimates"]
    return replace(result, tables=[*estimates, phases, *pages, *insights], facts=facts)


def _largest(phases: ResultTable, most: int | None) -> ResultTable:
    """The `most` phases with the largest GPU time."""
    if most is None or len(phases.rows) <= most:
        return phases
    times = [int(value or 0) for value in phases.column("gpu_time_ns")]
    kept = sorted(sorted(range(len(times)), key=lambda index: -times[index])[:most])
    return replace(phases, rows=[phases.rows[index] for index in kept], total_rows=len(phases.rows))


def _has_page(record: dict[str, Value]) -> bool:
    """Whether a phase shows what those nested in it do not."""
    own = record.get("own_op_count", record["op_count"])
    return int(own or 0) * _OWN_SHARE >= int(record["op_count"] or 0)


def _title(scope: tuple[Value, ...], record: dict[str, Value]) -> str:
    ops = counted(int(record["op_count"] or 0), "op")
    gpu_time = duration_text(int(record["gpu_time_ns"] or 0))
    places = ", ".join(str(value) for value in scope if value is not None)
    prefix = f"[{places}] " if places else ""
    return f"=== {prefix}{record['path']} ({ops}, {gpu_time} GPU time) ==="


COMMAND = Command(
    "phases",
    "Show what each phase did: for every path of nested ranges (roctx, NVTX, profiler "
    "annotations; merged over repetitions) how often it occurred, its wall and GPU time, and its "
    "top kernels with a note on what they are. docs/phases.md says which op belongs where. "
    "Where no markers show phases, prefill and decode are found by kernel names and structure, "
    "with a confidence (docs/serving-phases.md).",
    (
        Example("wavescope phases trace.db", "prefill, decode, ... with their top kernels"),
        Example(
            "wavescope phases trace.db --marker '^decode' -n 20", "more kernels of decode only"
        ),
        Example("wavescope phases trace.db --per process", "each rank for itself"),
        Example("wavescope phases trace.db --without-markers", "prefill and decode by structure"),
        Example("wavescope phases trace.json.gz --keep-numbers --json", "every step, as JSON"),
        Example("wavescope phases trace.db --table phase_kernels --format csv", "all of it as CSV"),
    ),
    _add_arguments,
    _run,
)
