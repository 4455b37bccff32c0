"""Finds what is injected into a recorded program."""

from __future__ import annotations

from pathlib import Path

from wavescope.errors import MachineError
from wavescope.native import library_path

COLLECTOR = "wavescope_collector"
_SEPARATORS = (" ", ":", "\t", "\n", '"', "\\")


def collector_library() -> Path | None:
    """The installed collector, or None when this build has none."""
    return library_path(COLLECTOR)


def required_collector() -> Path:
    """The installed collector; an error that tells how to build it when there is none."""
    path = collector_library()
    if path is None:
        raise MachineError(
            "this installation has no collector library: it was built without a C++ compiler or "
            "without the HSA headers",
            hint="apt-get install g++ cmake libhsa-runtime-dev (or install ROCm), then: "
            "pip install --force-reinstall wavescope",
        )
    return path


def loadable(library: Path, folder: Path) -> Path:
    """`library` under a name that LD_PRELOAD can spell: a link in `folder` where it has spaces."""
    if not any(character in str(library) for character in _SEPARATORS):
        return library
    link = folder / library.name
    if any(character in str(link) for character in _SEPARATORS):
        raise MachineError(
            f"{library} cannot be preloaded: its path has a space or a colon",
            hint="install wavescope in another folder, or set XDG_RUNTIME_DIR to one without",
        )
    link.symlink_to(library)
    return link
