"""Damage to folders: files missing, renamed, swapped, or not files at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from fuzz.inputs import Entry, Input, Special

_ADDED = ("notes.txt", "sub/more.csv", "x" * 200, "line\nbreak", "-rf", "\udcff\udcfe", ".hidden")


def mutate(random: Random, made: Input) -> Input:
    """`made` after a change of its folder."""
    name = random.choice(list(made.files))
    return replace(made, files=random.choice(_CHANGES)(random, dict(made.files), name))


def _without(_: Random, files: dict[str, Entry], name: str) -> dict[str, Entry]:
    del files[name]
    return files


def _special(random: Random, files: dict[str, Entry], name: str) -> dict[str, Entry]:
    return {**files, name: random.choice(list(Special))}


def _empty(_: Random, files: dict[str, Entry], name: str) -> dict[str, Entry]:
    return {**files, name: b""}


def _swapped(random: Random, files: dict[str, Entry], name: str) -> dict[str, Entry]:
    other = random.choice(list(files))
    return {**files, name: files[other], other: files[name]}


def _renamed(random: Random, files: dict[str, Entry], name: str) -> dict[str, Entry]:
    content = files.pop(name)
    new = random.choice((f"deeper/{name}", f"{name}.gz", name.upper(), f"{name}~", name[1:] or "x"))
    return files if new in files else {**files, new: content}


def _added(random: Random, files: dict[str, Entry], name: str) -> dict[str, Entry]:
    return {**files, random.choice(_ADDED): random.choice((files[name], b"", Special.FIFO))}


def _copied(random: Random, files: dict[str, Entry], name: str) -> dict[str, Entry]:
    stem, dot, suffix = name.rpartition(".")
    new = random.choice((f"{stem}_2{dot}{suffix}", f"pass_2/{name}", f"0{name}"))
    return {**files, new: files[name]}


_CHANGES: tuple[Callable[[Random, dict[str, Entry], str], dict[str, Entry]], ...] = (
    _without,
    _without,
    _special,
    _empty,
    _swapped,
    _renamed,
    _added,
    _copied,
)
