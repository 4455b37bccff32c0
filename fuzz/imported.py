"""Everything imported before the first fork, so that no case pays for it."""

from __future__ import annotations

import importlib
import pkgutil
from contextlib import suppress

import wavescope

_OTHERS = ("wavescope.__main__", "wavescope.collect")
"""What no reader needs: starts programs, or ends this one."""


def import_everything() -> None:
    """Import all modules of wavescope that any reader may need."""
    for module in pkgutil.walk_packages(wavescope.__path__, "wavescope."):
        if not module.name.startswith(_OTHERS):
            with suppress(ImportError):  # needs a library that is not installed
                importlib.import_module(module.name)
