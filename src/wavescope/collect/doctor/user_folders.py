"""The folders that wavescope has made for a user, which uninstalling the package leaves behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.runtimes import cache_folder


@dataclass(frozen=True)
class KeptFolder:
    """A folder of this user's, what it is for and how much it holds."""

    purpose: str
    folder: Path
    size_bytes: int


def kept_folders(environment: Mapping[str, str]) -> list[KeptFolder]:
    """Every folder that is there and is the user's; links are neither followed nor counted."""
    return [
        KeptFolder(purpose, folder, _bytes_below(folder))
        for purpose, folder in _possible_folders(environment)
        if _is_own_folder(folder)
    ]


def _possible_folders(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    yield "fetched ROCm runtimes", cache_folder(environment)
    caches = _caches(environment)
    temporary = Path(tempfile.gettempdir())
    if caches is not None:
        yield "machines of the software GPU", caches / "softgpu"
        yield "the viewer's cache", caches / "view"
    yield "machines of the software GPU", temporary / f"wavescope-softgpu-{os.geteuid()}"
    if running := environment.get("XDG_RUNTIME_DIR"):
        yield "the list of running recordings", Path(running) / "wavescope"
    yield "the list of running recordings", temporary / f"wavescope-{os.geteuid()}"
    for folder in sorted(temporary.glob("wavescope-dormant-*")):
        yield "records of `run --dormant`: its program may still run", folder


def _caches(environment: Mapping[str, str]) -> Path | None:
    cache, home = Path(environment.get("XDG_CACHE_HOME", "")), Path(environment.get("HOME", ""))
    base = cache if cache.is_absolute() else home / ".cache"
    return base / "wavescope" if base.is_absolute() else None


def _is_own_folder(folder: Path) -> bool:
    try:
        return folder.is_dir() and not folder.is_symlink() and folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _bytes_below(folder: Path) -> int:
    """What the files below a folder hold."""
    paths = (Path(root, name) for root, _, names in os.walk(folder) for name in names)
    return sum(map(_size_of, paths))


def _size_of(path: Path) -> int:
    """What a file holds; one that went away meanwhile holds nothing."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0
