"""What the software GPU costs: idle CPU by number of GPUs, and dispatches per second.

python benchmarks/softgpu/run.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def build(folder: Path, source: str, *command: str) -> str:
    """The program of `source`, compiled into `folder`."""
    program = str(folder / Path(source).stem)
    environment = {**os.environ, "HIP_PLATFORM": "amd"}
    libraries = [] if source.endswith(".hip") else ["-lhsa-runtime64"]
    line = [*command, "-o", program, str(HERE / source), *libraries]
    subprocess.run(line, env=environment, check=True)
    return program


def measured(options: list[str], program: str) -> list[float]:
    """The numbers that a program prints on the software GPU."""
    line = [sys.executable, "-m", "wavescope", "softgpu", *options, "--", program]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        idle = build(folder, "idle_gpus.hip", "hipcc", "-O1", "-w", "--offload-arch=gfx90a")
        rate = build(folder, "dispatch_rate.c", "gcc", "-O2")
        print("| idle HIP program | % of a core | of it per GPU |\n|---|---|---|")
        for gpus in (1, 2, 8):
            _, milliseconds = measured(["--gpus", str(gpus)], idle)
            percent = milliseconds / 3000 * 100
            print(f"| {gpus} GPUs | {percent:.2f} | {percent / gpus:.2f} |")
        print("\n| kernels | dispatches/s | submitting thread, ns each | process, ns each |")
        print("|---|---|---|---|")
        for kernel_ns in (0, 100, 2000, 10_000):
            rates, submit, process = measured(["--kernel-ns", str(kernel_ns)], rate)
            print(f"| {kernel_ns} ns | {rates:,.0f} | {submit:.0f} | {process:.0f} |")


if __name__ == "__main__":
    main()
