"""`wavescope merge`: the traces of many processes or ranks in one file."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_traces_argument, opened_source, tell_notes
from wavescope.cli.options import add_force_flag, add_json_flag, add_output_path, add_quiet_flag
from wavescope.cli.outputs import tell_written
from wavescope.cli.progress import Progress

_RANK_SOURCES = ("nowhere", "order", "name")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces_argument(parser, "traces of any known format")
    add_output_path(parser, required=True, meaning="trace file to write, such as merged.db")
    parser.add_argument(
        "--rank-from",
        choices=_RANK_SOURCES,
        default="nowhere",
        help="rank of processes whose trace does not tell it: the position on the command line "
        "(order), or the number after 'rank' in the file name (name); default nowhere",
    )
    add_force_flag(parser)
    add_quiet_flag(parser)
    add_json_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.formats.files import replaced  # noqa: PLC0415  slow to import
    from wavescope.formats.wavescope.writing import RankFrom, write_trace  # noqa: PLC0415

    inputs = [Path(path) for path in arguments.traces]
    with ExitStack() as stack:
        temporary = stack.enter_context(replaced(arguments.output, inputs, force=arguments.force))
        sources = [
            stack.enter_context(opened_source(path, quiet=arguments.quiet))
            for path in arguments.traces
        ]
        with Progress(f"merging {len(sources)} traces", quiet=arguments.quiet) as progress:
            write_trace(sources, temporary, progress, rank_from=RankFrom(arguments.rank_from))
        if not arguments.quiet:
            for source in sources:
                tell_notes(source.notes)
    tell_written(arguments.output, "wavescope", arguments)
    return 0


COMMAND = Command(
    "merge",
    "Put several traces into one, without loss: rows, names, links, markers and processes of all "
    "are kept. GPUs with equal numbers stay apart unless both traces name the same device.",
    (
        Example("wavescope merge rank0.db rank1.db -o all.db", "two ranks in one trace"),
        Example(
            "wavescope merge run/rank_*.json.gz -o all.db --rank-from name",
            "ranks taken from the file names",
        ),
    ),
    _add_arguments,
    _run,
)
