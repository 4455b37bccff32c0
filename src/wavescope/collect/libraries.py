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


def is_loadable(library: Path) -> bool:
    """Whether LD_PRELOAD and HSA_TOOLS_LIB can spell the path: both have separators."""
    return not any(character in str(library) for character in _SEPARATORS)


def linked(library: Path, folder: Path) -> Path:
    """A link in `folder` to a library whose own path cannot be spelled."""
    link = folder / library.name
    if not is_loadable(link):
        raise MachineError(
            f"{library} cannot be preloaded: its path has a space or a colon",
            hint="install wavescope in another folder, or set XDG_RUNTIME_DIR to one without",
        )
    link.symlink_to(library)
    return link
