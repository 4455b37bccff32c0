"""Ranges around the operators of a real torch, recorded by the real collector."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wavescope
from tests.softgpu_programs import require_softgpu
from wavescope.collect.torch_ranges import torch_ranges_environment, without_ranges_because

NET = """
import threading
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.head = nn.Linear(2 * 26 * 26, 10)

    def forward(self, x):
        x = F.relu(self.conv(x))
        return self.head(x.flatten(1))

with torch.no_grad():
    net = Net()
    net(torch.ones(1, 1, 28, 28))
    thread = threading.Thread(target=lambda: torch.ones_like(torch.zeros(3)))
    thread.start()
    thread.join()
    try:
        net(torch.ones(1, 3, 28, 28))
    except RuntimeError:
        print("the wrong shape was refused")
    print(tuple(torch.compile(net, backend="eager", fullgraph=True)(torch.ones(1, 1, 28, 28)).shape))
"""
FORWARD = [
    "nn.Module.Net.forward @FILE:19",
    "nn.Module.Net.forward @FILE:19/nn.Module.Conv2d.forward @FILE:14",
    "nn.Module.Net.forward @FILE:19/nn.Module.Conv2d.forward @FILE:14/torch.nn.functional.conv2d @conv.py",
    "nn.Module.Net.forward @FILE:19/torch.nn.functional.relu @FILE:14",
    "nn.Module.Net.forward @FILE:19/torch.Tensor.flatten @FILE:15",
    "nn.Module.Net.forward @FILE:19/nn.Module.Linear.forward @FILE:15",
    "nn.Module.Net.forward @FILE:19/nn.Module.Linear.forward @FILE:15/torch.nn.functional.linear @linear.py",
]


def needs_torch() -> None:
    require_softgpu()
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed: make test-torch")


def recorded_paths(folder: Path, *python: str) -> tuple[list[str], str]:
    """Nested marker texts in order of their start, and what the program printed."""
    target = folder / "trace.db"
    command = [sys.executable, "-m", "wavescope", "trace", "-q", "--torch", "--softgpu"]
    done = subprocess.run(
        [*command, "-o", str(target), sys.executable, *python],
        capture_output=True, text=True, timeout=300, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trace = wavescope.open(target)
    starts, ends = trace.markers["start_ns"].tolist(), trace.markers["end_ns"].tolist()
    threads, names = trace.markers["thread"].tolist(), trace.markers.strings("name")
    paths, open_ranges = [], {}
    for row in sorted(range(len(names)), key=lambda row: (starts[row], -ends[row])):
        stack = open_ranges.setdefault(threads[row], [])
        while stack and stack[-1][0] <= starts[row]:
            stack.pop()
        stack.append((ends[row], names[row]))
        paths.append("/".join(name for _, name in stack))
    return paths, done.stdout


def without_lines_of_torch(path: str) -> str:
    return re.sub(r"@(conv|linear)\.py:\d+", r"@\1.py", path)


@pytest.mark.torch
@pytest.mark.parametrize("how", ["script", "-m", "-c"])
def test_operators_and_modules_are_ranges_with_the_lines_that_called_them(
    tmp_path: Path, how: str
) -> None:
    needs_torch()
    (tmp_path / "net.py").write_text(NET)
    python = {"script": ["net.py"], "-m": ["-m", "net"], "-c": ["-c", NET]}[how]

    paths, printed = recorded_paths(tmp_path, *python)

    file = "<string>" if how == "-c" else "net.py"
    first = paths.index(f"nn.Module.Net.forward @{file}:19")
    seen = [without_lines_of_torch(path) for path in paths[first : first + len(FORWARD)]]
    assert seen == [path.replace("FILE", file) for path in FORWARD]
    # A thread of its own has ranges of its own, an exception ends what it leaves, and compiled
    # code is what it is without ranges.
    assert f"torch.ones_like @{file}:20" in paths
    assert f"torch.ones @{file}:27" in paths
    assert printed == "the wrong shape was refused\n(1, 10)\n"


@pytest.mark.torch
def test_the_users_own_sitecustomize_still_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_torch()
    (tmp_path / "sitecustomize.py").write_text("print('mine')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    paths, printed = recorded_paths(tmp_path, "-c", "import torch; torch.zeros(2)")

    assert printed == "mine\nmine\n"  # wavescope itself is a Python program
    assert "torch.zeros @<string>:1" in paths


def test_a_python_without_torch_is_left_alone(tmp_path: Path) -> None:
    environment = torch_ranges_environment({"PYTHONPATH": str(tmp_path)})
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.stdout.write('mine ')")
    program = "import json, sys; print(json.dumps(sorted(sys.modules)))"

    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )

    assert environment["PYTHONPATH"].endswith(f":{tmp_path}")
    assert done.stdout.startswith("mine ")
    assert "torch" not in json.loads(done.stdout.removeprefix("mine "))
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("command", "is_refused"),
    [
        (["python3", "train.py", "-E"], False),
        (["python3", "-u", "-m", "pkg", "-I"], False),
        (["/usr/bin/python3.11", "-I", "train.py"], True),
        (["python", "-uE", "train.py"], True),
        (["python3", "-c", "-S"], False),
        (["./serve", "-E"], False),
        (["python3"], False),
        ([], False),
    ],
)
def test_a_python_that_ignores_the_environment_is_noticed(
    command: list[str], is_refused: bool
) -> None:
    assert bool(without_ranges_because(command)) == is_refused


def test_it_is_said_before_the_program_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wavescope", "trace", "--torch", "python3", "-I", "train.py"]

    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.returncode == 2
    assert "--torch would have no effect: python3 -I" in done.stderr.replace(
        "python -I", "python3 -I"
    )
