"""The generated reference pages are up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "generate_docs.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_match_their_sources(tool: ModuleType) -> None:
    assert tool.stale_pages(tool.DOCS, tool.pages()) == [], "run `make docs`"


def test_every_command_and_flag_is_on_the_page(tool: ModuleType) -> None:
    from wavescope.cli.commands import COMMANDS, command_of

    page = tool.commands_page()
    for entry in COMMANDS:
        assert f"## wavescope {entry.name}\n" in page
        for kind in entry.forms:
            assert f"### wavescope {entry.name} of a {kind.value}\n" in page
        for each in (entry, *entry.forms.values()):
            assert all(f"| `{alias}` | `" in page for alias in each.aliases)
            for action in command_of(each).parser()._actions:
                for flag in action.option_strings:
                    assert f"`{flag}`" in page or flag in {"-h", "--help"}


def test_words_that_help_does_not_list_are_called_deprecated(tool: ModuleType) -> None:
    page = tool.commands_page()

    assert "SUPPRESS" not in page
    assert "- `--subpath` `{node_name,gpu_model}`: deprecated: taken with a warning" in page


def test_every_column_is_on_the_page(tool: ModuleType) -> None:
    from wavescope.model.columns import TABLES

    page = tool.trace_file_page()
    for table in TABLES:
        for column in table.columns:
            assert f"| `{column.name}` |" in page
            assert column.meaning.replace("|", "\\|") in page


def test_a_stale_page_is_found(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("old")

    assert tool.stale_pages(tmp_path, {"a.md": "new", "b.md": "x"}) == ["a.md", "b.md"]
