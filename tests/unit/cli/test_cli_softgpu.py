"""`wavescope softgpu` up to the program that it becomes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from wavescope.api import machine
from wavescope.cli.main import main
from wavescope.collect.softgpu import SoftGpuOptions


@pytest.fixture(autouse=True)
def _usable(monkeypatch: pytest.MonkeyPatch) -> None:
    def variables(options: SoftGpuOptions, *_: object) -> dict[str, str]:
        return {**options.variables(), "LD_LIBRARY_PATH": "/a folder"}

    monkeypatch.setattr(machine, "variables_of", variables)


def test_without_a_program_the_variables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["softgpu", "--chip", "gfx906", "--fault", "hang,ms=1", "--fault", "fail"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "export WAVESCOPE_SOFTGPU_CHIP=gfx906",
        "export WAVESCOPE_SOFTGPU_FAULTS='hang,ms=1;fail'",
        "export LD_LIBRARY_PATH='/a folder'",
    ]


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["softgpu", "--gpus", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "WAVESCOPE_SOFTGPU_GPUS": "3",
        "LD_LIBRARY_PATH": "/a folder",
    }


def test_the_program_replaces_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    became: list[object] = []

    def execute(file: str, arguments: list[str], environment: dict[str, str]) -> None:
        became.extend((file, arguments, environment["WAVESCOPE_SOFTGPU_TRUTH"]))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execvpe", execute)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["softgpu", "--truth", "t.%p.csv", "--", "prog", "--chip", "x"])

    assert became == ["prog", ["prog", "--chip", "x"], str(tmp_path / "t.%p.csv")]


def test_a_truth_log_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "truth.csv"
    log.write_text("mine")

    assert main(["softgpu", "--truth", str(log), "--", "true"]) == 2
    assert log.read_text() == "mine"
    assert "already exists" in capsys.readouterr().err


def test_wrong_values_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["softgpu", "--chip", "gfx1", "--", "true"]) == 2
    assert main(["softgpu", "--gpus", "two"]) == 2
    assert "there is no software GPU 'gfx1'" in capsys.readouterr().err


def test_durations_that_are_not_there_stop_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["softgpu", "--durations", "/no/such/file", "--", "true"]) == 3
    assert "there is no such file of durations" in capsys.readouterr().err


def test_a_tiny_model_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.gguf"

    assert main(["softgpu", "--tiny-model", str(model)]) == 0
    size = model.stat().st_size
    assert model.read_bytes()[:4] == b"GGUF"
    assert (
        f"wrote {model}: a llama model of 4 layers, {size / 1e6:.1f} MB" in capsys.readouterr().out
    )
    assert main(["softgpu", "--tiny-model", str(model), "--weights", "f16"]) == 2
    assert model.stat().st_size == size
    assert main(["softgpu", "--tiny-model", str(model), "--weights", "f16", "--force"]) == 0
    assert model.stat().st_size > 3 * size


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--weights", "f16"], "--weights needs --tiny-model"),
        (["--tiny-model", "model.gguf", "--", "./program"], "--tiny-model takes no program"),
        (["--tiny-model", "/no/such/folder/model.gguf"], "cannot write /no/such/folder/model.gguf"),
    ],
)
def test_models_that_cannot_be_written(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["softgpu", *arguments]) in {2, 4}
    assert words in capsys.readouterr().err
