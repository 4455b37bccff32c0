"""Names source lines so that the same line of two versions of a file has the same name."""

from __future__ import annotations

from collections.abc import Mapping

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.model.capture import Frame, SourceFile

LineKey = tuple[str, str, int]


class LineKeys:
    """Keys of the lines of one capture.

    With the text of the source: file name, line text and its how-many-eth occurrence. Without: file
    name and line number.
    """

    def __init__(self, decoded: DecodedTrace, *, by_text: bool) -> None:
        self._sources: Mapping[str, SourceFile] = decoded.trace.sources if by_text else {}
        self._known: dict[str, dict[int, LineKey]] = {}

    def key(self, frame: Frame) -> LineKey:
        """The key of a line."""
        name = frame.path.rpartition("/")[2]
        source = self._sources.get(frame.path)
        if source is None or not 1 <= frame.line <= len(source.lines):
            return name, "", frame.line
        return self._of_file(frame.path, name, source)[frame.line]

    def _of_file(self, path: str, name: str, source: SourceFile) -> dict[int, LineKey]:
        if path not in self._known:
            seen: dict[str, int] = {}
            keys: dict[int, LineKey] = {}
            for number, line in enumerate(source.lines, 1):
                text = line.strip()
                seen[text] = seen.get(text, 0) + 1
                keys[number] = name, text, seen[text]
            self._known[path] = keys
        return self._known[path]


def has_text_of_all(decoded: DecodedTrace) -> bool:
    """Whether the capture keeps the source of every line that its instructions come from."""
    paths = {frames[0].path for frames in decoded.instructions.frames if frames}
    return bool(paths) and paths <= set(decoded.trace.sources)
