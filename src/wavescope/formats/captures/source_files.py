"""Reads the source texts of a capture: snapshots.json names the copy of each file.

The tree in snapshots.json is untrusted: copies are looked for in the capture's own folder only, and
neither depth nor number of names is taken on faith.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import Any, NamedTuple

from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.file_tree import FileTree, read_object, safe_name
from wavescope.model.capture import CaptureNotes, SourceFile

_MOST_SNAPSHOT_BYTES = 64 << 20
_MOST_SOURCE_BYTES = 16 << 20
_MOST_NAMES = 200_000
_DEEPEST = 200


class SourceTexts(NamedTuple):
    """Texts by the path that frames use, and why others have none."""

    found: dict[str, SourceFile]
    missing: dict[str, str]


def read_sources(
    tree: FileTree, folder: str, wanted: Iterable[str], notes: CaptureNotes
) -> SourceTexts:
    """The texts of the `wanted` paths as far as the capture kept them."""
    copies = _snapshot_copies(tree, folder, notes)
    found: dict[str, SourceFile] = {}
    missing: dict[str, str] = {}
    for path in wanted:
        local = copies.get(path)
        if local is None:
            missing[path] = "the capture kept no copy"
            continue
        name = safe_name(folder, local)
        if name is None:
            missing[path] = f"its copy '{local}' would lie outside the capture"
            continue
        try:
            data = tree.read(name, _MOST_SOURCE_BYTES)
        except UnreadableInputError as error:
            missing[path] = f"its copy '{local}' is unreadable: {error.reason}"
            continue
        text, encoding = decoded(data)
        found[path] = SourceFile(path, text.splitlines(), encoding)
    outside = sum("outside" in reason for reason in missing.values())
    if outside:
        notes.repaired.add(f"{outside:,} source copies lead outside the capture and are not read")
    return SourceTexts(found, missing)


def decoded(data: bytes) -> tuple[str, str]:
    """The text of a source file in whatever encoding, and that encoding."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"


def _snapshot_copies(tree: FileTree, folder: str, notes: CaptureNotes) -> dict[str, str]:
    name = f"{folder}/snapshots.json" if folder else "snapshots.json"
    if name not in tree.sizes:
        return {}
    try:
        document = read_object(tree, name, _MOST_SNAPSHOT_BYTES)
    except UnreadableInputError as error:
        notes.missing.add(f"snapshots.json is unreadable: {error.reason}")
        return {}
    return _flattened(document, notes)


def _flattened(document: dict[str, Any], notes: CaptureNotes) -> dict[str, str]:
    """Paths with their copies; the key '/' is the root, other first keys begin relative paths."""
    copies: dict[str, str] = {}
    unusable = 0
    pending: list[tuple[str, dict[str, Any], int]] = [("", document, 0)]
    while pending:
        prefix, node, depth = pending.pop()
        for key, value in node.items():
            path = "/" if not prefix and key == "/" else _joined(prefix, key)
            if isinstance(value, dict) and depth < _DEEPEST:
                pending.append((path, value, depth + 1))
            elif isinstance(value, str) and len(copies) < _MOST_NAMES:
                copies[path] = value
            else:
                unusable += 1
    if unusable:
        notes.repaired.add(f"{unusable:,} entries of snapshots.json name no copy")
    return copies


def _joined(prefix: str, key: str) -> str:
    return f"{prefix}{key}" if not prefix or prefix.endswith("/") else f"{prefix}/{key}"
