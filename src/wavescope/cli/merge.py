"""`wavescope merge`: the traces of many processes or ranks in one file."""

from __future__ import annotations

import argparse

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import add_traces_argument
from wavescope.cli.options import add_file_flags, add_output_path
from wavescope.cli.output_files import tell_written
from wavescope.cli.progress import Progress

_RANK_SOURCES = ("nowhere", "order", "name")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces_argument(parser, "traces of any known format")
    add_output_path(parser, required=True, meaning="trace file to write, such as merged.db")
    parser.add_argument(
        "--rank-from",
        choices=_RANK_SOURCES,
        default="nowhere",
        help="where to take the rank of a process from when its trace does not say it: the "
        "position on the command line (order), or the number after 'rank' in the file name (name); "
        "default nowhere",
    )
    add_file_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    activity = f"merging {len(arguments.traces)} traces"
    with Progress(activity, quiet=arguments.quiet) as progress:
        written = wavescope.merge(
            arguments.traces,
            arguments.output,
            rank_from=wavescope.RankFrom(arguments.rank_from),
            force=arguments.force,
            progress=progress,
            tell=progress.tell,
        )
    tell_written(written, "wavescope", arguments)
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
