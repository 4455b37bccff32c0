"""The part of `wavescope softgpu` that writes a language model to run there."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from wavescope.cli.terminal import say
from wavescope.errors import MachineError, OutputExistsError, UsageError

_WEIGHTS = ("q4_0", "f16")


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags that write a model and do nothing else."""
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


def model_only(arguments: argparse.Namespace) -> bool:
    """Write the model that was asked for; whether one was."""
    path: Path | None = arguments.tiny_model
    if path is None:
        if arguments.weights is not None:
            raise UsageError("--weights is for a model", hint="add --tiny-model FILE")
        return False
    if arguments.command or arguments.runtime is not None:
        raise UsageError("writing a model runs no program", hint="leave out the program")
    if path.exists() and not (arguments.force and path.is_file()):
        raise OutputExistsError(path)
    _write(path, arguments.weights or _WEIGHTS[0])
    if arguments.json:
        print(json.dumps({"model": str(path), "bytes": path.stat().st_size}, indent=2))
        return True
    print(f"wrote {path}: a llama model of 4 layers, {path.stat().st_size / 1e6:.1f} MB")
    run = f"llama-bench -m {path} -p 512 -n 16 -ngl 99"
    say(f"wavescope trace -m full --softgpu=gfx90a,runtime=6.4+llama {run}", label="hint")
    return True


def _write(path: Path, weights: str) -> None:
    from wavescope.collect.demo import (  # noqa: PLC0415  slow to import
        TinyModel,
        WeightType,
        write_tiny_model,
    )

    model = TinyModel(weights=WeightType[weights.upper()])
    try:
        path.unlink(missing_ok=True)
        write_tiny_model(path, model)
    except OSError as error:
        raise MachineError(f"cannot write {path}: {error.strerror}") from error
