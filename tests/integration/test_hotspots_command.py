"""`wavescope hotspots` on whole folders, good and bad."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.capture_folders import HEADER, a_capture, step, write_json
from wavescope.cli.main import main


def a_folder(parent: Path, *, dispatch: int = 1, kernel: str = "axpy(float*)") -> Path:
    return (
        a_capture(dispatch=dispatch, demangled=kernel)
        .with_source("/k.py", "@kernel\ndef k():\n    x = load()\n    use(x)\n")
        .with_code(
            ("global_load_dword v0, v[0:1], off", "/k.py:3"),
            ("s_waitcnt vmcnt(0)", "/k.py:4"),
            ("s_endpgm", "/k.py:1"),
        )
        .with_wave([step(1), step(2, stall=90), step(3, stall=10)])
        .write(parent)
    )


def test_text_shows_lines_instructions_and_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hotspots", str(a_folder(tmp_path)), "--detail"]) == 0

    out = capsys.readouterr().out
    for words in ("VMEM-wait", "k.py:4", "s_waitcnt vmcnt(0)", "x = load()", "█", "decorator"):
        assert words in out


def test_json_has_every_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hotspots", str(a_folder(tmp_path)), "--json", "--timeline"]) == 0

    document = json.loads(capsys.readouterr().out)
    names = [table["name"] for table in document["tables"]]
    for name in (
        "stall_types",
        "lines",
        "lines_charged",
        "entry_lines",
        "instructions",
        "waits",
        "coverage",
    ):
        assert name in names
    assert document["facts"]["stall"] == 100
    assert document["facts"]["is_partial"] is False


@pytest.mark.parametrize(
    ("flags", "absent"),
    [
        (["--mode", "asm"], {"lines", "lines_charged", "entry_lines"}),
        (["--mode", "src"], {"instructions", "instructions_charged"}),
        (["--view", "raw"], {"lines_charged", "instructions_charged"}),
        (["--view", "charged"], {"lines", "instructions"}),
    ],
)
def test_mode_and_view_choose_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], absent: set[str]
) -> None:
    assert main(["hotspots", str(a_folder(tmp_path)), "--json", *flags]) == 0

    names = {table["name"] for table in json.loads(capsys.readouterr().out)["tables"]}
    everything = {"lines", "lines_charged", "entry_lines", "instructions", "instructions_charged"}
    assert everything - names == absent


def test_several_captures_are_listed_and_one_is_chosen_by_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_folder(tmp_path, dispatch=1)
    a_folder(tmp_path, dispatch=2, kernel="gemm(int)")
    broken = tmp_path / "ui_output_agent_7_dispatch_3"
    broken.mkdir()
    (broken / "code.json").write_text("{")

    assert main(["hotspots", str(tmp_path), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row[0] for row in listed["tables"][0]["rows"]] == ["axpy(float*)", "gemm(int)"]
    (finding,) = listed["findings"]
    assert (finding["id"], finding["title"]) == ("capture-unreadable", "1 capture cannot be read")

    assert main(["hotspots", str(tmp_path), "--json", "--kernel", "^gemm"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"]["kernel"] == "gemm(int)"

    assert main(["hotspots", str(tmp_path), "--kernel", "nothing"]) == 3
    assert "no kernel in it matches" in capsys.readouterr().err
    assert main(["hotspots", str(tmp_path), "--kernel", "("]) == 2


def test_many_unreadable_captures_are_one_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_folder(tmp_path, dispatch=1)
    a_folder(tmp_path, dispatch=2)
    for dispatch in range(3, 8):
        broken = tmp_path / f"ui_output_agent_7_dispatch_{dispatch}"
        broken.mkdir()
        (broken / "code.json").write_text("{")

    assert main(["hotspots", str(tmp_path), "--json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]

    assert finding["title"] == "5 captures cannot be read"
    assert "dispatch_3/code.json" in finding["evidence"]
    assert finding["evidence"].endswith("; and 2 more")


def test_a_partial_capture_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_folder(tmp_path)
    (folder / "se0_sm0_sl0_wv0.json").unlink()

    assert main(["hotspots", str(folder)]) == 0

    out = capsys.readouterr().out
    assert "1 of 1 wave files are missing" in out
    assert "program order" in out
    assert "partial" in out


def test_null_code_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "code.json", {"code": None, "header": HEADER})

    assert main(["hotspots", str(tmp_path), "--detail", "--timeline"]) == 0

    assert "HSA_CU_MASK" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", '{"code":[[1]]}', '{"code":{},"header":"ISA"}']
)
def test_bad_code_is_an_error_with_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "code.json").write_text(text)

    code = main(["hotspots", str(tmp_path)])

    shown = capsys.readouterr()
    assert code == 3 or "too short" in shown.out
    assert "Traceback" not in shown.err
    assert "bug" not in shown.err


def test_hostile_names_are_shown_harmlessly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_folder(tmp_path, kernel="\x1b[31mevil\x07")

    assert main(["hotspots", str(folder)]) == 0

    assert "\x1b" not in capsys.readouterr().out


def test_without_waves_code_alone_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hotspots", str(a_folder(tmp_path)), "--no-waves", "--json"]) == 0

    facts = json.loads(capsys.readouterr().out)["facts"]
    assert (facts["wave_count"], facts["charged_basis"]) == (0, "program order")


def test_topk_says_how_many_rows_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = a_capture().with_code(*(f"v_add_f32 v{row}, v1, v2" for row in range(40)))
    folder = builder.with_wave([step(row, stall=row) for row in range(1, 41)]).write(tmp_path)

    for topk, shown in (("3", 3), ("30", 30), ("0", 40)):
        flags = ["--mode", "asm", "--view", "raw", "--topk", topk]
        assert main(["hotspots", str(folder), *flags]) == 0
        assert capsys.readouterr().out.count("v_add_f32") == shown
