"""What can be seen of a machine without changing it; tests put a folder in the place of `/`."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

_LIBRARY_FOLDERS = (
    "opt/rocm/lib",
    "opt/rocm/lib64",
    "usr/local/cuda/lib64",
    "usr/local/cuda/extras/CUPTI/lib64",
    "usr/local/cuda/lib",
    "usr/lib/wsl/lib",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/local/lib",
)


def _ldconfig_listing() -> str:
    """What the dynamic linker's cache lists; empty where there is no such tool."""
    tool = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if tool is None:
        return ""
    try:
        done = subprocess.run([tool, "-p"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


_LOADED_TOOLS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD")
_PATIENCE_S = 60


def _answer_of(program: str, arguments: Sequence[str]) -> str:
    """What a Python program prints in a process of its own, without the tools of others."""
    environment = {name: text for name, text in os.environ.items() if name not in _LOADED_TOOLS}
    command = [sys.executable, "-S", "-c", program, *arguments]
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


@dataclass(frozen=True)
class GpuNode:
    """A GPU that the AMD kernel driver lists."""

    chip: str
    compute_units: int


@dataclass
class Machine:
    """Files below `root`, environment, programs and libraries of one machine."""

    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    find_program: Callable[[str], str | None] = shutil.which
    linker_listing: Callable[[], str] = _ldconfig_listing
    folder: Path = field(default_factory=Path.cwd)
    answer_of: Callable[[str, Sequence[str]], str] = _answer_of
    """What a Python program prints when a process of its own runs it; nothing when that fails."""

    def program(self, name: str) -> str:
        """Path of a program on PATH, or nothing."""
        return self.find_program(name) or ""

    @property
    def rocm_folder(self) -> Path:
        """Where ROCm is installed, if it is."""
        return Path(self.environment.get("ROCM_PATH") or self.root / "opt/rocm")

    def rocm_program(self, name: str) -> str:
        """Path of a program of ROCm, on PATH or where ROCm is installed, or nothing."""
        installed = self.rocm_folder / "bin" / name
        return self.program(name) or (str(installed) if os.access(installed, os.X_OK) else "")

    def library(self, *names: str) -> str:
        """Path of the first of these shared libraries that is found, or nothing."""
        for folder in self._library_folders():
            for name in names:
                found = folder / name
                if found.exists():
                    return str(found)
        return next((self._cached[name] for name in names if name in self._cached), "")

    def module_version(self, name: str) -> str:
        """Version of the package of an importable module; ImportError says why it is not."""
        importlib.import_module(name)
        return importlib.metadata.version(name.partition(".")[0])

    def has_module(self, name: str) -> bool:
        """Whether a Python module is installed, told without importing it."""
        return importlib.util.find_spec(name) is not None

    def text(self, path: str) -> str:
        """Content of a small file below the root, stripped; nothing when it cannot be read."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except OSError:
            return ""

    def properties(self, folder: Path) -> dict[str, str]:
        """Names and values in a folder of the kernel driver's topology."""
        lines = self.text(str((folder / "properties").relative_to(self.root))).splitlines()
        return dict(line.split(" ", 1) for line in lines if " " in line)

    def gpu_nodes(self) -> list[GpuNode]:
        """The AMD GPUs in the kernel driver's topology."""
        nodes = self.root / "sys/class/kfd/kfd/topology/nodes"
        found = []
        for node in sorted(nodes.glob("*"), key=lambda path: path.name.zfill(8)):
            properties = self.properties(node)
            if properties.get("simd_count", "0").strip() not in {"", "0"}:
                found.append(_gpu_node(properties))
        return found

    def _library_folders(self) -> Iterator[Path]:
        if rocm := self.environment.get("ROCM_PATH"):
            yield Path(rocm) / "lib"
        for name in ("LD_LIBRARY_PATH", "ROCPROF_ATT_LIBRARY_PATH"):
            for folder in filter(None, self.environment.get(name, "").split(":")):
                yield Path(folder)
        for name in _LIBRARY_FOLDERS:
            yield self.root / name

    @cached_property
    def _cached(self) -> dict[str, str]:
        """Library name -> path, from the dynamic linker's cache."""
        found: dict[str, str] = {}
        for line in self.linker_listing().splitlines():
            name, arrow, path = line.strip().partition(" => ")
            if arrow:
                found.setdefault(name.split(" ", 1)[0], path)
        return found


def _gpu_node(properties: Mapping[str, str]) -> GpuNode:
    version = whole_number(properties.get("gfx_target_version", "0"))
    chip = f"gfx{version // 10_000}{version // 100 % 100:x}{version % 100:x}" if version else "GPU"
    simds = whole_number(properties.get("simd_count", "0"))
    per_unit = max(1, whole_number(properties.get("simd_per_cu", "4")))
    return GpuNode(chip, simds // per_unit)


def whole_number(text: str) -> int:
    """The number that `text` is, else 0."""
    return int(text) if text.strip().isdecimal() else 0
