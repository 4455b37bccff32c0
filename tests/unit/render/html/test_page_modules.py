"""The pure parts of the pages' scripts, run by node: windows of time, layout, words, sources."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
STATIC = Path("src/wavescope/render/html/static")
TESTS = Path("tests/javascript")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that node takes for modules: the package carries nothing for node."""
    folder = tmp_path_factory.mktemp("modules")
    for part in (STATIC, TESTS):
        shutil.copytree(ROOT / part, folder / part)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / TESTS).glob("*.test.js")))
def test_javascript(name: str, modules: Path) -> None:
    ran = subprocess.run(
        ["node", "--test-reporter=tap", TESTS / name],
        cwd=modules,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"^# pass [1-9]", ran.stdout, re.MULTILINE)


def test_the_keys_of_panels_are_those_of_the_documentation() -> None:
    said = re.findall(
        r"^\| ([A-Z][\w ]+) \| `(.)` \|", (ROOT / "docs/view.md").read_text(), re.MULTILINE
    )
    panels = [path.read_text() for path in (ROOT / STATIC / "view").glob("panel_*.js")]
    told = [dict(re.findall(r'^  (title|key): "(.+)",$', text, re.MULTILINE)) for text in panels]

    assert {each["title"]: each["key"].upper() for each in told if "key" in each} == dict(said)
