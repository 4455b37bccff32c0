"""Every block of Python on a page runs; what it takes from its reader's program is played.

docs/python.md is one program, which test_python_api.py runs whole.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import wavescope
from tests.sample_files import rich_trace, write_as

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Played:
    """Stands for whatever a reader's program has: takes every call and remembers it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def function(self, name: str) -> Callable[..., int]:
        def called(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            return 0

        return called


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """A program with PyTorch and roctx, in a folder with a trace."""
    played = Played()
    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(synchronize=played.function("synchronize"))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    roctx = {name: played.function(name) for name in ("roctxRangePushA", "roctxRangePop")}
    whole = ctypes.CDLL  # native libraries of wavescope's own are loaded by name

    def loaded(name: str | None, *more: Any, **options: Any) -> Any:
        return whole(name, *more, **options) if name else SimpleNamespace(**roctx)

    monkeypatch.setattr(ctypes, "CDLL", loaded)
    monkeypatch.setattr(wavescope.OpenedView, "serve_forever", played.function("serve_forever"))
    monkeypatch.chdir(tmp_path)
    write_as(rich_trace(), tmp_path / "trace.db")
    return played


def marked_phases(_: dict[str, Any], played: Played) -> None:
    pushed = [arguments for name, arguments in played.calls if name == "roctxRangePushA"]
    assert pushed == [(b"prefill",), (b"decode",)]
    order = [name for name, _ in played.calls]
    assert order == ["roctxRangePushA", "synchronize", "roctxRangePop"] * 2


def registered_formats(names: dict[str, Any], _: Played) -> None:
    assert (names["IMPORTER"].name, names["EXPORTER"].suffixes) == ("my format", (".mine",))
    assert names["IMPORTER"].matches(SimpleNamespace(head=b"MINE and more"))


def ranges_of_a_model(names: dict[str, Any], played: Played) -> None:
    assert played.calls == [("prefill", ("batch",))]
    assert names["decode"]("state") is None


def served_view(_: dict[str, Any], played: Played) -> None:
    assert [name for name, _ in played.calls] == ["serve_forever"]


SHOWN: dict[tuple[str, int], Callable[[dict[str, Any], Played], None]] = {
    ("formats.md", 0): registered_formats,
    ("markers.md", 0): ranges_of_a_model,
    ("markers.md", 1): marked_phases,
    ("tutorials/prefill-vs-decode.md", 0): marked_phases,
    ("view.md", 0): served_view,
}
"""Each block by its page and place there, and what it must have done."""


def blocks(page: str) -> list[str]:
    return BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("page", "number"), SHOWN)
def test_a_block_of_python_runs_as_it_is_shown(page: str, number: int, played: Played) -> None:
    names: dict[str, Any] = {
        "wavescope": wavescope,
        "batch": "batch",
        "torch": sys.modules["torch"],
        **{name: played.function(name) for name in ("open_mine", "write_mine")},
        "model": SimpleNamespace(prefill=played.function("prefill")),
    }

    exec(compile(blocks(page)[number], page, "exec"), names)

    SHOWN[page, number](names, played)


def test_every_block_of_python_is_run() -> None:
    pages = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")]
    found = {(page, number) for page in pages for number in range(len(blocks(page)))}

    assert {each for each in found if each[0] != "python.md"} == set(SHOWN)
