"""The part of `wavescope softgpu` that fetches, lists and removes ROCm runtimes."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

from wavescope.cli.options import OutputOptions
from wavescope.cli.outputs import print_result
from wavescope.cli.terminal import say
from wavescope.collect.machine import Machine
from wavescope.collect.runtimes import (
    Runtime,
    chosen_runtime,
    fetched_runtime,
    listed_runtimes,
    remove_runtime,
)
from wavescope.errors import UsageError

if TYPE_CHECKING:
    from wavescope.model.result import Result


def add_runtime_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags that choose a runtime, and those that do nothing else."""
    group = parser.add_argument_group(
        "ROCm runtimes", "Other versions than the machine's own; docs/runtimes.md tells more."
    )
    group.add_argument(
        "--runtime",
        metavar="VERSION",
        help="run on this ROCm, such as 6.4, fetched when it is not there (default: the machine's)",
    )
    group.add_argument(
        "--mirror",
        metavar="URL",
        help="archive to fetch from (default: the one that apt uses on this machine)",
    )
    only = group.add_mutually_exclusive_group()
    only.add_argument(
        "--list-runtimes", action="store_true", help="show what is there and what can be fetched"
    )
    only.add_argument(
        "--fetch",
        metavar="VERSION",
        help="only fetch this runtime; --force fetches it again",
    )
    only.add_argument("--remove-runtime", metavar="VERSION", help="remove a fetched runtime")


def runtime_only(arguments: argparse.Namespace) -> bool:
    """Do what was asked about runtimes alone; whether anything was."""
    asked = arguments.list_runtimes or arguments.fetch or arguments.remove_runtime
    if not asked:
        return False
    if arguments.command or arguments.runtime is not None:
        raise UsageError("fetching, listing and removing runtimes run no program")
    if arguments.list_runtimes:
        print_result(_listing(), OutputOptions.from_arguments(arguments))
    elif arguments.fetch:
        _fetch(arguments)
    else:
        _remove(arguments)
    return True


def runtime_of(arguments: argparse.Namespace) -> Runtime | None:
    """The runtime to run on, fetched when it is not there; None is the machine's own."""
    if arguments.runtime is None and arguments.mirror is not None:
        raise UsageError("--mirror is for fetching", hint="add --runtime or --fetch")
    if arguments.mirror is not None:
        return fetched_runtime(arguments.runtime, os.environ, mirror=arguments.mirror, told=say)
    return chosen_runtime(arguments.runtime, os.environ, told=say)


def _fetch(arguments: argparse.Namespace) -> None:
    runtime = fetched_runtime(
        arguments.fetch, os.environ, mirror=arguments.mirror, again=arguments.force, told=say
    )
    if arguments.json:
        packages = {package.name: package.version for package in runtime.manifest.packages}
        facts = {"runtime": runtime.name, "folder": str(runtime.folder), "packages": packages}
        print(json.dumps(facts, indent=2))
        return
    print(f"{runtime.name}: {runtime.versions} in {runtime.folder}")
    say(f"wavescope softgpu --runtime {runtime.name} -- rocminfo", label="hint")


def _remove(arguments: argparse.Namespace) -> None:
    folder = remove_runtime(arguments.remove_runtime, os.environ)
    if arguments.json:
        print(json.dumps({"removed": str(folder)}, indent=2))
    else:
        print(f"removed {folder}")


def _listing() -> Result:
    from wavescope.model.result import (  # noqa: PLC0415  only for this
        Result,
        ResultColumn,
        ResultTable,
        Unit,
        Value,
    )

    columns = (
        ResultColumn("runtime", "Runtime", Unit.NAME, "what --runtime takes"),
        ResultColumn("state", "State", Unit.NAME, "ready, damaged, can be fetched, missing"),
        ResultColumn("versions", "Versions", Unit.NAME, "what is in it, or what is wrong with it"),
        ResultColumn("folder", "Folder", Unit.NAME, "where it is"),
    )
    rows: list[tuple[Value, ...]] = [
        (r.name, r.state.value, r.versions, str(r.folder or ""))
        for r in listed_runtimes(os.environ, Machine())
    ]
    return Result("Runtimes", [ResultTable("runtimes", "Runtimes", columns, rows)], [], {})
