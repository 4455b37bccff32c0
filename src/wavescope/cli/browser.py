"""The user's browser, opened where there is a desktop, without telling others the address."""

from __future__ import annotations

import os
import tempfile
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
_REMOTE = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_PAGE = (
    '<!DOCTYPE html>\n<meta charset="utf-8">\n<title>wavescope</title>\n'
    '<meta name="referrer" content="no-referrer">\n'
    '<meta http-equiv="refresh" content="0; url={0}">\n<a href="{0}">wavescope view</a>\n'
)


def has_desktop(environment: Mapping[str, str]) -> bool:
    """Whether a browser would be seen by whoever typed the command."""
    has_screen = any(environment.get(name) for name in _SCREENS)
    return has_screen and not any(environment.get(name) for name in _REMOTE)


@contextmanager
def shown_in_browser(address: str) -> Iterator[None]:
    """Open the default browser at `address`; it is on its way when the block begins.

    All users of a machine see the arguments of programs, so the browser is given a private file
    that leads to the address, for as long as the block lasts.
    """
    with tempfile.TemporaryDirectory(prefix="wavescope-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "view.html")
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(_PAGE.format(escape(address)))
        # Some browsers are waited for.
        threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
        yield
