"""CUDA programs that tests record on a real GPU, and what their traces have."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from wavescope.formats import open_trace
from wavescope.model.op_kinds import OpKind
from wavescope.model.trace import Trace

PROGRAMS = Path(__file__).resolve().parent / "programs" / "cuda"
PATIENCE_S = 90


def require_nvidia() -> None:
    """Skip where there is no GPU to record."""
    if shutil.which("nvidia-smi") is None and not Path("/dev/nvidia0").exists():
        pytest.skip("this machine has no NVIDIA GPU")


@cache
def torch_python() -> str:
    """The interpreter that has PyTorch: TORCH_PYTHON, this one, or python3."""
    for python in (os.environ.get("TORCH_PYTHON", ""), sys.executable, shutil.which("python3")):
        if python and _has_torch(python):
            return python
    pytest.skip("no interpreter with PyTorch for CUDA: name one in TORCH_PYTHON")


def _has_torch(python: str) -> bool:
    asked = "import torch; raise SystemExit(0 if torch.cuda.is_available() else 1)"
    done = subprocess.run([python, "-c", asked], capture_output=True, timeout=120, check=False)
    return done.returncode == 0


def torch_scenario(*arguments: object) -> list[str]:
    """The command of a scenario in PyTorch."""
    return [torch_python(), str(PROGRAMS / "torch_scenarios.py"), *map(str, arguments)]


def framework_scenario(name: str) -> list[str]:
    """The command of a scenario of another framework."""
    return [torch_python(), str(PROGRAMS / "framework_scenarios.py"), name]


def require_module(name: str) -> None:
    """Skip where the interpreter with PyTorch lacks another framework."""
    asked = f"from importlib.util import find_spec; raise SystemExit(find_spec({name!r}) is None)"
    if subprocess.run([torch_python(), "-c", asked], timeout=120, check=False).returncode:
        pytest.skip(f"{torch_python()} has no {name}")


def other_cuda() -> Path | None:
    """Packages of another CUDA than the compiler's, unpacked: CUDA_PACKAGES names their folder.

    The scenarios are linked with its runtime, and recorded with its CUPTI.
    """
    folder = os.environ.get("CUDA_PACKAGES")
    return Path(folder) / "nvidia" if folder else None


def built_scenarios(folder: Path) -> Path:
    """The scenarios in CUDA C++, built by nvcc."""
    compiler = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(compiler).exists():
        pytest.skip("CUDA's compiler nvcc is not installed")
    program, source = folder / "cuda_scenarios", PROGRAMS / "cuda_scenarios.cu"
    command = [compiler, "-O1", "-std=c++17", "-arch=native", "-o", str(program), str(source)]
    if packages := other_cuda():
        libraries = packages / "cuda_runtime" / "lib"
        static = libraries / "libcudart_static.a"  # some packages have the shared one only
        runtime = static if static.exists() else next(libraries.glob("libcudart.so.*"))
        command += ["-cudart", "none", "-Xlinker", f"{runtime},-rpath={libraries}"]
        command += ["-ldl", "-lrt", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return program


class Recording:
    """A recorded run: how it ended, what it printed, and its trace."""

    def __init__(self, done: subprocess.CompletedProcess[str], path: Path) -> None:
        self.code, self.output, self.messages = done.returncode, done.stdout, done.stderr
        self.path = path

    @contextmanager
    def trace(self) -> Iterator[Trace]:
        assert self.path.exists(), f"no trace, exit code {self.code}: {self.messages}"
        with open_trace(self.path) as trace:
            yield trace


def recorded_environment() -> dict[str, str]:
    """That of a program that is recorded."""
    packages = other_cuda()
    if packages is None:
        return dict(os.environ)
    (library,) = packages.glob("cuda_cupti/lib/libcupti.so.*")
    return {**os.environ, "WAVESCOPE_CUPTI": str(library)}


def record(
    command: list[str],
    folder: Path,
    *options: str,
    mode: str = "standard",
    environment: dict[str, str] | None = None,
) -> Recording:
    """Record a program to its end."""
    output = folder / "trace.db"
    with subprocess.Popen(
        [sys.executable, "-m", "wavescope", "trace", "--force", "-m", mode, "-o", str(output),
         *options, "--", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=recorded_environment() | (environment or {}),
    ) as process:  # fmt: skip
        try:
            said, messages = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            pytest.fail(f"{command} hangs when recorded: {process.communicate()}")
    done = subprocess.CompletedProcess(command, process.returncode, said, messages)
    return Recording(done, output)


KERNELS = ("scale_kernel", "shift_kernel", "node_kernel", "before_kernel", "paused_kernel",
           "after_kernel", "child_kernel", "spin_kernel", "sin_kernel", "exp_kernel",
           "cos_kernel")  # fmt: skip


def kernel_rows(trace: Trace, word: str) -> list[int]:
    """The rows of kernels with a word in their name."""
    kinds, names = trace.op_kind.tolist(), trace.ops.strings("name")
    return [at for at, kind in enumerate(kinds) if kind == OpKind.KERNEL and word in names[at]]


def kernel_counts(trace: Trace) -> dict[str, int]:
    """How often each kernel of the scenarios ran."""
    counts = {word: len(kernel_rows(trace, word)) for word in KERNELS}
    return {word: count for word, count in counts.items() if count}


def kind_counts(trace: Trace) -> Counter[OpKind]:
    return Counter(map(OpKind, trace.op_kind.tolist()))


def coverage(trace: Trace) -> Counter[str]:
    """Kernels seen, timed, skipped and lost: the sum over all processes and GPUs."""
    table = trace.coverage
    columns = ("seen", "timed", "skipped", "lost")
    return Counter({name: int(table[name].clip(min=0).sum()) for name in columns})


def marker_names(trace: Trace, rows: list[int]) -> set[str]:
    """The innermost ranges that these ops were launched in."""
    name_of = dict(zip(trace.markers["id"].tolist(), trace.markers.strings("name"), strict=True))
    return {name_of.get(number, "") for number in trace.ops["marker"][rows].tolist()}
