"""Folders that only this user has written: others may have put anything where all may write."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path


def private_folder(path: Path) -> Path:
    """`path` as a folder of this user's own, made when needed; PermissionError says what it is."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if reason := why_not_private(path):
        raise PermissionError(f"{path} {reason}")
    return path


def why_not_private(path: Path) -> str:
    """Why what lies in a folder cannot be trusted, or nothing where it can.

    What is not there raises an OSError.
    """
    found, above = path.lstat(), path.absolute().parent.stat()
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder"
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by other users"
    if is_writable_by_others(above) and not above.st_mode & stat.S_ISVTX:
        return "lies in a folder in which other users can replace it"
    return ""


def is_writable_by_others(found: os.stat_result) -> bool:
    """Whether anybody but the owner may write; a group that holds nobody else is the owner."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _is_group_of_one(found)


def _is_group_of_one(found: os.stat_result) -> bool:
    """Whether the group is the one that many systems make for each user, with their name."""
    try:
        user, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    is_named_so = group.gr_name == user.pw_name and user.pw_gid == group.gr_gid
    return is_named_so and set(group.gr_mem) <= {user.pw_name}
