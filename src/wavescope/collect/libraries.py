"""Libraries that are injected into programs: where they are, and how the loader is told."""

from __future__ import annotations

import sys
from pathlib import Path

from wavescope.collect.record_options import RecordMode
from wavescope.errors import MachineError
from wavescope.package_files import library_path

_COLLECTOR = "wavescope_collector"
_COLLECTOR_OF_CALLS = "wavescope_collector_hip"
"""The same with the functions of HIP, which only hip mode puts before the runtime's own."""
_SEPARATORS = (" ", ":", "\t", "\n", '"', "\\")


def collector_library(mode: RecordMode = RecordMode.STANDARD) -> Path | None:
    """The installed collector for a mode, or None when this build has none."""
    return library_path(_COLLECTOR_OF_CALLS if mode is RecordMode.HIP else _COLLECTOR)


def required_collector(mode: RecordMode = RecordMode.STANDARD) -> Path:
    """The installed collector; an error that tells how to get it when there is none."""
    path = collector_library(mode)
    if path is None:
        what, hint = missing_collector()
        raise MachineError(what, hint=hint)
    return path


def missing_collector(platform: str = sys.platform) -> tuple[str, str]:
    """Why an installation without a collector has none, and what to do about it."""
    if platform != "linux":
        return (
            f"recording needs Linux, and this is {platform}",
            "record on Linux and open the trace here: every analysis works",
        )
    return (
        "this installation has no collector library",
        "it is not whole; install it again: pip install --force-reinstall wavescope",
    )


def is_loadable(library: Path) -> bool:
    """Whether LD_PRELOAD and HSA_TOOLS_LIB can spell the path: both have separators."""
    return not any(character in str(library) for character in _SEPARATORS)


def linked(library: Path, folder: Path) -> Path:
    """A link in `folder` to a library whose own path cannot be spelled."""
    link = folder / library.name
    if not is_loadable(link):
        raise MachineError(
            f"{library} cannot be preloaded: its path has a space or a colon",
            hint="install wavescope in another folder, or set XDG_RUNTIME_DIR to a "
            "folder whose path has neither",
        )
    link.symlink_to(library)
    return link


def with_word(words: str, word: str, separator: str) -> str:
    """`word` after what the user had: libraries such as AddressSanitizer insist on being first."""
    present = [part for part in words.replace(":", " ").split() if part]
    if word in present:
        return words
    return f"{words}{separator}{word}" if present else word
