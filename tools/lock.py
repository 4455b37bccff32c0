"""Writes requirements/*.txt: every package that tests, builds and tools install, with its hashes.

One file holds for all versions of Python that wavescope knows and for all platforms. What was
locked stays as it is unless pyproject.toml forbids it; `--upgrade` takes the newest of everything.
Run by `make lock`, with the uv of requirements/lock.txt.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON = "3.10"


def compile_options(name: str) -> list[str]:
    """How uv is called for requirements/NAME.txt; what no table names comes on standard input."""
    sources = ["pyproject.toml", "--all-extras"] if name == "test" else ["--group", name]
    return [
        *sources,
        *("-" if name in {"test", "build"} else ""),
        *("--output-file", f"requirements/{name}.txt", "--custom-compile-command", "make lock"),
        *("--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes", "--quiet"),
    ]


def lock(name: str, project: dict[str, Any], more: Sequence[str]) -> None:
    """Write requirements/NAME.txt, or exit with what uv said."""
    command = [str(Path(sys.executable).parent / "uv"), "pip", "compile", *compile_options(name)]
    backend = "\n".join(project["build-system"]["requires"])
    done = subprocess.run([*command, *more], input=backend, text=True, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main(more: Sequence[str]) -> None:
    """Lock the tests' packages and those of each dependency group; MORE goes to uv."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name in ("test", *project["dependency-groups"]):
        lock(name, project, more)
        print(f"wrote requirements/{name}.txt")


if __name__ == "__main__":
    main(sys.argv[1:])
