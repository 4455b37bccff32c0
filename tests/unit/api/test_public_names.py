"""What type checkers see of `wavescope` is what there is at run time."""

from __future__ import annotations

import ast
from pathlib import Path

import wavescope

STUB = Path(wavescope.__file__).with_suffix(".pyi")


def test_the_stub_names_the_same_from_the_same_modules() -> None:
    imports = [
        node
        for node in ast.parse(STUB.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
    ]
    said = {alias.name: node.module for node in imports for alias in node.names}
    homes = {**wavescope._HOMES, "__version__": "wavescope.version"}
    homes |= dict.fromkeys(("mark", "pause", "range", "resume"), "wavescope.markers")

    assert said == homes
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    assert sorted(said) == wavescope.__all__


def test_every_public_name_is_there() -> None:
    for name in wavescope.__all__:
        assert getattr(wavescope, name) is not None
