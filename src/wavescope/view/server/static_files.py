"""The page's scripts and styles: files of the package with a plain name, and no others."""

from __future__ import annotations

import re

from wavescope.package_files import package_file
from wavescope.view.answers import Answer

_FOLDER = ("render", "html", "static")
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_NAME = re.compile(r"(?:\w[\w-]*/)*\w[\w-]*(\.js|\.css)", re.ASCII)
"""No dots but the last: neither other folders nor hidden files have such a name."""


def static_file(name: str) -> Answer | None:
    """The file called `name`; None where there is none."""
    found = _NAME.fullmatch(name)
    path = package_file(*_FOLDER, *name.split("/")) if found else None
    if found is None or path is None:
        return None
    return Answer(path.read_bytes(), _TYPES[found[1]])
