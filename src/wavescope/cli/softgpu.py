"""`wavescope softgpu`: runs a ROCm program without a GPU; fetches runtimes, writes a model."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import wavescope
from wavescope.cli.command import Command, Example
from wavescope.cli.inputs import DURATIONS_FILE
from wavescope.cli.options import OutputOptions, add_force_flag, add_json_flag
from wavescope.cli.outputs import print_result
from wavescope.cli.terminal import say
from wavescope.collect.softgpu import CHIPS, PARTITIONS
from wavescope.errors import OutputExistsError, UsageError

_WEIGHTS = ("q4_0", "f16")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "command",
        metavar="CMD",
        nargs=argparse.REMAINDER,
        help="program to run, with its arguments; after --. Without one, the variables that make "
        "programs run on the software GPU are printed",
    )
    parser.add_argument("--chip", metavar="CHIP", help=f"one of {', '.join(CHIPS)}")
    parser.add_argument("--gpus", metavar="N", type=int, help="number of GPUs, 1 to 16 (default 1)")
    parser.add_argument(
        "--partition",
        metavar="MODE",
        choices=PARTITIONS,
        help="spx (default): a GPU is one device; cpx: each compute die of a gfx942 or "
        "gfx950 is one",
    )
    parser.add_argument(
        "--kernel-ns",
        metavar="NS",
        help="duration of kernels (default 2000): nanoseconds, uniform:LOW:HIGH, "
        "exponential:MEAN or lognormal:MEDIAN:SIGMA",
    )
    parser.add_argument(
        "--durations",
        metavar="FILE",
        type=DURATIONS_FILE,
        help="durations by kernel name: lines PATTERN,DURATION; the first that matches counts",
    )
    parser.add_argument("--seed", metavar="N", type=int, help="seed of drawn durations")
    parser.add_argument(
        "--contention",
        metavar="PERCENT",
        type=int,
        help="how much each other busy queue of a GPU lengthens a kernel (default 0)",
    )
    parser.add_argument(
        "--truth",
        metavar="FILE",
        type=Path,
        help="write what the GPUs executed, one CSV line per op; %%p becomes the process id",
    )
    parser.add_argument(
        "--fault",
        metavar="SPEC",
        action="append",
        help="KIND[,key=value]..., may be repeated: hang, fail, queue_error, lost_timestamps, "
        "equal_timestamps, reversed_timestamps, slow_interrupt, clock_jump, clock_drift",
    )
    _add_runtime_arguments(parser)
    _add_model_arguments(parser)
    add_force_flag(parser)
    add_json_flag(parser)


def _add_runtime_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "ROCm runtimes", "Other versions than the machine's own (docs/runtimes.md)."
    )
    group.add_argument(
        "--runtime",
        metavar="VERSION",
        help="run on this ROCm, such as 6.4; fetched if needed (default: the machine's)",
    )
    group.add_argument(
        "--mirror",
        metavar="URL",
        help="archive to fetch from (default: the one that apt uses on this machine)",
    )
    only = group.add_mutually_exclusive_group()
    only.add_argument(
        "--list-runtimes",
        action="store_true",
        help="list the runtimes that are here, and those that can be fetched",
    )
    only.add_argument(
        "--fetch",
        metavar="VERSION",
        help="only fetch this runtime; --force fetches it again",
    )
    only.add_argument("--remove-runtime", metavar="VERSION", help="remove a fetched runtime")


def _add_model_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("A model for llama.cpp")
    group.add_argument(
        "--tiny-model",
        metavar="FILE",
        type=Path,
        help="only write a small language model with random weights in GGUF format: it answers "
        "nonsense by the kernels of a real one",
    )
    group.add_argument(
        "--weights", choices=_WEIGHTS, help=f"how its weights are stored (default {_WEIGHTS[0]})"
    )


def _run(arguments: argparse.Namespace) -> int:
    if arguments.list_runtimes or arguments.fetch or arguments.remove_runtime:
        _manage_runtimes(arguments)
    elif arguments.tiny_model is not None:
        _write_model(arguments)
    elif arguments.weights is not None:
        raise UsageError("--weights needs --tiny-model", hint="add --tiny-model FILE")
    else:
        _run_program(arguments)
    return 0


def _run_program(arguments: argparse.Namespace) -> None:
    """Become the program, or print the variables where none is named."""
    options = _options(arguments)
    if options.runtime is None and arguments.mirror is not None:
        raise UsageError(
            "--mirror is only used to fetch a runtime", hint="add --runtime or --fetch"
        )
    variables = wavescope.softgpu_environment(options)
    command: list[str] = arguments.command
    if command[:1] == ["--"]:
        command = command[1:]
    if not command and options.other_runtime is not None:
        raise UsageError(
            "--runtime needs a program to run: variables alone cannot choose another runtime",
            hint=f"wavescope softgpu --runtime {options.other_runtime} -- rocminfo",
        )
    if not command:
        _print_variables(variables, as_json=arguments.json)
        return
    execute = wavescope.softgpu_command(command, options, mirror=arguments.mirror, tell=say)
    if arguments.truth is not None:
        _make_room(arguments.truth, force=arguments.force)
    _become(execute, {**os.environ, **variables})


def _options(arguments: argparse.Namespace) -> wavescope.SoftGpuOptions:
    if arguments.durations is not None:
        Path(arguments.durations).open("rb").close()  # the program would find out too late
    return wavescope.SoftGpuOptions(
        chip=arguments.chip,
        gpus=arguments.gpus,
        partition=arguments.partition,
        kernel_ns=arguments.kernel_ns,
        durations=_absolute(arguments.durations),
        seed=arguments.seed,
        contention=arguments.contention,
        truth=_absolute(arguments.truth),
        runtime=arguments.runtime,
        faults=tuple(arguments.fault or ()),
    )


def _absolute(path: Path | str | None) -> str | None:
    """The program may change its folder before it opens the GPUs."""
    return None if path is None else str(Path(path).absolute())


def _print_variables(variables: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(variables, indent=2))
        return
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")


def _make_room(truth: Path, *, force: bool) -> None:
    if not truth.exists():
        return
    if not force:
        raise OutputExistsError(truth)
    truth.unlink()


def _become(command: Sequence[str], environment: dict[str, str]) -> NoReturn:
    """Replace this process by the program, so that exit code and signals are its own."""
    sys.stdout.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and exec keeps that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], list(command), environment)  # noqa: S606  no shell is wanted
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise UsageError(f"cannot run {command[0]}: {error.strerror}") from error


def _manage_runtimes(arguments: argparse.Namespace) -> None:
    """List, fetch or remove runtimes, as was asked."""
    if arguments.command or arguments.runtime is not None:
        raise UsageError("--fetch, --list-runtimes and --remove-runtime take no program")
    if arguments.list_runtimes:
        print_result(wavescope.runtimes(), OutputOptions.from_arguments(arguments))
    elif arguments.fetch:
        _fetch(arguments)
    else:
        folder = wavescope.remove_runtime(arguments.remove_runtime)
        shown = json.dumps({"removed": str(folder)}, indent=2)
        print(shown if arguments.json else f"removed {folder}")


def _fetch(arguments: argparse.Namespace) -> None:
    runtime = wavescope.fetch_runtime(
        arguments.fetch, mirror=arguments.mirror, again=arguments.force, tell=say
    )
    if arguments.json:
        packages = {package.name: package.version for package in runtime.manifest.packages}
        facts = {"runtime": runtime.name, "folder": str(runtime.folder), "packages": packages}
        print(json.dumps(facts, indent=2))
        return
    print(f"{runtime.name}: {runtime.versions} in {runtime.folder}")
    say(f"wavescope softgpu --runtime {runtime.name} -- rocminfo", label="hint")


def _write_model(arguments: argparse.Namespace) -> None:
    if arguments.command or arguments.runtime is not None:
        raise UsageError("--tiny-model takes no program", hint="leave out the program")
    weights = arguments.weights or _WEIGHTS[0]
    path = wavescope.write_tiny_model(arguments.tiny_model, weights=weights, force=arguments.force)
    if arguments.json:
        print(json.dumps({"model": str(path), "bytes": path.stat().st_size}, indent=2))
        return
    print(f"wrote {path}: a llama model of 4 layers, {path.stat().st_size / 1e6:.1f} MB")
    run = f"llama-bench -m {path} -p 512 -n 16 -ngl 99"
    say(f"wavescope trace --softgpu=gfx90a,runtime=6.4+llama {run}", label="hint")


COMMAND = Command(
    "softgpu",
    "Run a ROCm program (HSA or HIP) on GPUs made of software: queues, copies, streams, events and "
    "graphs run for real in the installed runtime; kernels take the time you choose and "
    "compute nothing. Needs no GPU, no driver and no privileges. docs/software-gpu.md describes "
    "it; docs/runtimes.md says how to run on another ROCm than the machine's.",
    (
        Example("wavescope softgpu -- ./hip_program", "on one gfx90a"),
        Example(
            "wavescope softgpu --gpus 8 --truth truth.%p.csv -- ./hip_program",
            "on eight, and note what they executed",
        ),
        Example(
            "wavescope softgpu --fault hang,kernel=gemm,ms=50,every=100 -- ./hip_program",
            "every hundredth gemm takes 50 ms longer",
        ),
        Example(
            "wavescope softgpu --chip gfx1030", "variables to export, for all programs of a shell"
        ),
        Example("wavescope softgpu --runtime 6.4 -- rocminfo", "on ROCm 6.4, fetched once"),
        Example("wavescope softgpu --tiny-model model.gguf", "a model for llama.cpp to run"),
        Example("wavescope softgpu --list-runtimes", "the versions of ROCm to choose from"),
    ),
    _add_arguments,
    _run,
    computes=False,
)
