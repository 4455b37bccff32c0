"""The folder of unpacked runtimes: what is there, what is damaged, and removing it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.runtimes.runtime import MANIFEST, Runtime, opened_runtime
from wavescope.errors import MachineError, UsageError
from wavescope.private_folders import is_writable_by_others

VARIABLE = "WAVESCOPE_RUNTIMES"


@dataclass(frozen=True)
class CachedRuntime:
    """A folder of the cache: a runtime, or what is wrong with it."""

    name: str
    folder: Path
    runtime: Runtime | None
    trouble: str = ""


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where runtimes are kept for this user."""
    if given := environment.get(VARIABLE):
        return Path(given).absolute()
    base = environment.get("XDG_CACHE_HOME", "")
    home = Path(base) if Path(base).is_absolute() else _home(environment) / ".cache"
    return home / "wavescope" / "runtimes"


def cached_runtimes(environment: Mapping[str, str]) -> list[CachedRuntime]:
    """The runtimes of the cache by name, damaged ones too."""
    folder = cache_folder(environment)
    try:
        names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError:
        return []
    return [_shown(folder, name) for name in names if (folder / name).is_dir()]


def cached_runtime(cache: Path, name: str) -> CachedRuntime:
    """The runtime called `name`, or what is wrong with it; an error where it may be a trap."""
    folder = cache / name
    if not folder.is_dir():
        return CachedRuntime(name, folder, None, "it is not there")
    try:
        _require_own(folder)
        return CachedRuntime(name, folder, opened_runtime(folder))
    except ValueError as error:
        return CachedRuntime(name, folder, None, str(error))


def _shown(cache: Path, name: str) -> CachedRuntime:
    try:
        return cached_runtime(cache, name)
    except MachineError as error:
        return CachedRuntime(name, cache / name, None, str(error))


def remove_runtime(name: str, environment: Mapping[str, str]) -> Path:
    """Remove a runtime from the cache; the folder that it was in."""
    folder = cache_folder(environment) / name
    if folder.parent != cache_folder(environment) or name.startswith(".") or not folder.is_dir():
        having = ", ".join(cached.name for cached in cached_runtimes(environment)) or "none"
        raise UsageError(
            f"there is no runtime {name!r} in the cache", hint=f"in the cache: {having}"
        )
    if not (folder / MANIFEST).is_file() and not (folder / "root").is_dir():
        raise UsageError(f"{folder} is not a runtime", hint="nothing was removed")
    doomed = folder.with_name(f".new-{name}-removed-{os.getpid()}")
    folder.rename(doomed)
    shutil.rmtree(doomed)
    return folder


def _require_own(folder: Path) -> None:
    """An error when others could have put programs into a folder that is to be run from."""
    for place in (folder, folder.parent):
        found = place.stat()
        is_foreign = found.st_uid not in {os.getuid(), 0}
        is_sticky = place != folder and found.st_mode & stat.S_ISVTX
        if is_foreign or (is_writable_by_others(found) and not is_sticky):
            writers = "everybody" if found.st_mode & stat.S_IWOTH else "its group"
            whose = "belongs to somebody else" if is_foreign else f"can be written by {writers}"
            raise MachineError(
                f"{place} {whose}: programs are not run from it",
                hint=f"set {VARIABLE} to a folder you own",
            )


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())
