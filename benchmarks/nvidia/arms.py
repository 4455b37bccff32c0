"""How a program is run: alone, recorded by wavescope, or under another collector; and what is built for it."""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "nvidia"
PATIENCE_S = 100.0


def wavescope(*arguments: object) -> list[str]:
    """The command of wavescope, of this interpreter."""
    return [sys.executable, "-m", "wavescope", *map(str, arguments)]


def recorded(command: Sequence[object], output: Path, mode: str, *options: str) -> list[str]:
    """The command that records `command` into `output`."""
    return wavescope("trace", "-q", "--force", "-m", mode, "-o", output, *options, "--", *command)


def ran(
    command: Sequence[object],
    environment: dict[str, str] | None = None,
    patience_s: float = PATIENCE_S,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; what it printed. It ends after `patience_s` at the latest."""
    parts = [str(part) for part in command]
    with subprocess.Popen(
        parts,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, messages = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            # With all that it started: whatever still has the pipes open would be waited for.
            os.killpg(process.pid, signal.SIGKILL)
            output, messages = process.communicate()
            messages += f"\nended after {patience_s:.0f} s"
    return subprocess.CompletedProcess(parts, process.returncode, output, messages)


def say(text: str) -> None:
    """Tell progress on stderr, with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def tell_failure(what: str, done: subprocess.CompletedProcess[str]) -> None:
    tail = "\n    ".join((done.stdout + done.stderr).strip().splitlines()[-15:])
    say(f"{what} failed with code {done.returncode}:\n    {tail}")


def built_cuda(name: str) -> Path:
    """The program `name`.cu of this folder, compiled by nvcc."""
    BUILD.mkdir(parents=True, exist_ok=True)
    source, program = HERE / f"{name}.cu", BUILD / name
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        command = [nvcc(), "-O2", "-std=c++17", "-arch=native", "-o", program, source]
        done = ran(command, patience_s=300)
        if done.returncode != 0:  # an older nvcc, or one that cannot see the GPU
            done = ran([part for part in command if part != "-arch=native"], patience_s=300)
        if done.returncode != 0:
            raise SystemExit(f"nvcc could not compile {source.name}:\n{done.stderr}")
    return program


def nvcc() -> str:
    """CUDA's compiler: on PATH, else where it is usually installed."""
    for folder in (*os.environ.get("PATH", "").split(":"), "/usr/local/cuda/bin"):
        if folder and Path(folder, "nvcc").is_file():
            return str(Path(folder, "nvcc"))
    raise SystemExit("nvcc was not found: the programs of this benchmark are compiled by it")


@cache
def built_floor() -> Path:
    """The library that has CUPTI record and throws all away."""
    BUILD.mkdir(parents=True, exist_ok=True)
    library, headers = cupti_library(), cupti_headers()
    output = BUILD / "libcupti_floor.so"
    includes = [f"-I{folder}" for folder in headers]
    done = ran(
        ["g++", "-std=c++17", "-O2", "-fPIC", "-shared", *includes, "-o", output, HERE / "cupti_floor.cpp",
         library, f"-Wl,-rpath,{library.parent}", "-pthread"]
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"the floor could not be built:\n{done.stderr}")
    return output


def _roots() -> list[Path]:
    """Folders that may hold CUPTI: with torch first, since its programs load that one."""
    packages = [Path(sysconfig.get_paths()["purelib"]), *map(Path, sys.path)]
    found = [package / "nvidia" for package in packages if (package / "nvidia").is_dir()]
    return [*dict.fromkeys(found), *sorted(Path("/usr/local").glob("cuda*")), Path("/opt/cuda")]


def cupti_library() -> Path:
    """The libcupti that programs of this interpreter load."""
    for root in _roots():
        for path in sorted(root.rglob("libcupti.so.1[23]")):
            return path
    raise SystemExit("libcupti.so.12 or .13 was not found")


def cupti_headers() -> list[Path]:
    """Folders with cupti.h and cuda.h; CUDA's own, else those of packages."""
    folders = []
    for name in ("cupti.h", "cuda.h", "crt/host_defines.h"):
        for root in (*sorted(Path("/usr/local").glob("cuda")), *_roots()):
            matches = sorted(root.rglob(name))
            if matches:
                folders.append(matches[0].parents[name.count("/")])
                break
    return list(dict.fromkeys(folders))


def interval(
    values: Sequence[float],
    middle: Callable[[Sequence[float]], float] = statistics.median,
    rounds: int = 4000,
) -> tuple[float, float, float]:
    """The middle of values and its 95 % interval by drawing from them again and again."""
    chance = random.Random(11)
    drawn = sorted(middle(chance.choices(values, k=len(values))) for _ in range(rounds))
    return middle(values), drawn[int(rounds * 0.025)], drawn[int(rounds * 0.975) - 1]


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as Markdown, first column left, others right, as wide as they need be."""
    texts = [[str(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[at]) for row in texts) for at in range(len(heads))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join(
        "-" * (width + 1) + ("-" if at == 0 else ":") for at, width in enumerate(widths)
    )
    return "\n".join([line(texts[0]), rule + "|", *map(line, texts[1:])])


def keep(path: Path, result: dict[str, Any]) -> None:
    """Write a result as JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".part")
    whole.write_text(json.dumps(result, indent=1, default=str))
    whole.rename(path)
