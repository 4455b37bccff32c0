"""The programs of the demo: what they lack, how they are made ready, whose recordings are theirs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.recorded import collector
from wavescope.collect.demo.programs import DEMO_PROGRAMS, DemoProgram
from wavescope.collect.machine import Machine

LLAMA, HIP = DEMO_PROGRAMS


def test_a_real_engine_comes_first() -> None:
    assert [program.name for program in DEMO_PROGRAMS] == ["llama", "hip"]


def test_llama_without_its_runtime_is_told_how_to_be_had(tmp_path: Path) -> None:
    collector()
    environment = {"WAVESCOPE_RUNTIMES": str(tmp_path)}

    missing = LLAMA.why_not_recordable(Machine(environment=environment))

    assert missing == (
        "the runtime 6.4+llama was not fetched (wavescope softgpu --fetch 6.4+llama)"
    )


def test_llama_is_made_ready_with_a_model(tmp_path: Path) -> None:
    demo = LLAMA.prepared(tmp_path)

    (model,) = tmp_path.iterdir()
    assert model.read_bytes()[:4] == b"GGUF"
    assert demo.command[:3] == ("llama-bench", "-m", str(model))
    assert demo.softgpu.startswith("gfx90a,runtime=6.4+llama")
    assert LLAMA.is_its_command(shlex.join(demo.command))


@pytest.mark.parametrize("program", DEMO_PROGRAMS, ids=lambda program: program.name)
@pytest.mark.parametrize(
    "command", ["", "llama-bench -m model.gguf -p 512", "./app llm_inference", "python3 serve.py"]
)
def test_other_commands_are_not_the_demos(program: DemoProgram, command: str) -> None:
    assert not program.is_its_command(command)
