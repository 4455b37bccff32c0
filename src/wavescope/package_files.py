"""Files that are installed with the package: native libraries, rules and tables.

`importlib.resources` would do, but importing it costs as much as a small command takes. The package
may lie in two folders (an editable install builds libraries in one of its own).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from wavescope.errors import MachineError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PACKAGE = "wavescope"


def package_file(*parts: str) -> Path | None:
    """The installed file at `parts` below the package, or None when it is not there."""
    for folder in sys.modules[_PACKAGE].__path__:
        path = Path(folder, *parts)
        if path.is_file():
            return path
    return None


def packaged_toml(*parts: str) -> dict[str, Any]:
    """The content of the installed TOML file at `parts` below the package."""
    path = package_file(*parts)
    if path is None:
        raise MachineError(
            f"this installation of wavescope lacks {'/'.join(parts)}",
            hint="pip install --force-reinstall wavescope",
        )
    return tomllib.loads(path.read_text(encoding="utf-8"))


def library_path(name: str) -> Path | None:
    """The installed file of native library `name`, or None when it is not there."""
    return package_file("lib", library_file(name))


def library_file(name: str, platform: str = sys.platform) -> str:
    """What the file of native library `name` is called on a platform."""
    return f"lib{name}.dylib" if platform == "darwin" else f"lib{name}.so"
