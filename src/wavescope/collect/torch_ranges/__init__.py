"""How a Python program is made to put ranges around its torch operators."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavescope.package_files import package_file

_PYTHON = re.compile(r"python(\d+(\.\d+)*)?")
_IGNORE_ENVIRONMENT = re.compile(r"-[a-zA-Z]*[EIS]")


def torch_ranges_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that make every Python started with them watch for torch."""
    module = package_file("collect", "torch_ranges", "site", "sitecustomize.py")
    assert module is not None, "the package was installed without its launcher"
    before = environment.get("PYTHONPATH", "")
    folder = str(module.parent)
    return {"PYTHONPATH": f"{folder}:{before}" if before else folder}


def without_ranges_because(command: Sequence[str]) -> str:
    """Why a command would run without ranges; nothing when there is no such reason to be seen."""
    if not command or not _PYTHON.fullmatch(Path(command[0]).name):
        return ""
    for word in command[1:]:
        if not word.startswith("-") or word in ("-c", "-m", "-"):
            return ""
        if _IGNORE_ENVIRONMENT.fullmatch(word):
            return f"python {word} ignores PYTHONPATH, by which ranges are put around operators"
    return ""
