"""Taking a demangled C++ name apart without ever cutting inside a bracket.

All brackets are paired in one pass over the text, so that everything after it jumps from an opening
bracket to its partner: the cost stays proportional to the length, whatever the name looks like.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Longer names are cut: what a kernel is stands at the front of its name.
LONGEST_NAME = 16_384

_ANONYMOUS = ("(anonymous namespace)", "<unnamed>", "{anonymous}")
_CLOSED_BY = {"(": ")", "<": ">", "[": "]", "{": "}"}
_CLOSING = frozenset(")]}")
_SYMBOL = r"(?:\(\)|\[\]|<=>|<<=|>>=|->\*|->|<<|>>|<=|>=|<|>|,)"
_BRACKET = re.compile(rf"(?<!\w)operator ?{_SYMBOL}|->|[()<>\[\]{{}}]")
_STEP = re.compile(rf"(?<!\w)operator\b ?{_SYMBOL}?|::|[ (<\[{{]")
_COMMA_STEP = re.compile(rf"(?<!\w)operator ?{_SYMBOL}|[,(<\[{{]")
_ENDS_NAME = re.compile(r" *(?:$|\[clone|const\b|[*&])")
_AFTER_PARAMETERS = re.compile(r"(?: const| volatile|&| &)*::")
_TYPE_WORD = re.compile(
    r"(?:void|bool|char|short|int|long|float|double|unsigned|signed|const|volatile|auto|static)\b"
)


class Span(NamedTuple):
    """A piece of the text, from `start` up to `end`."""

    start: int
    end: int


class Part(NamedTuple):
    """One component of a qualified name."""

    name: str
    arguments: Span | None = None
    has_parameters: bool = False


class CppName:
    """A demangled name with its brackets paired."""

    def __init__(self, text: str) -> None:
        self.text = text[:LONGEST_NAME]
        self.partner = _pair_brackets(self.text)

    def whole(self) -> Span:
        """Return the span of the whole name."""
        return Span(0, len(self.text))

    def part_text(self, span: Span) -> str:
        """Return the text of a span without surrounding blanks."""
        return self.text[span.start : span.end].strip()

    def arguments(self, span: Span) -> list[Span]:
        """Return the comma-separated pieces of an argument list."""
        found: list[Span] = []
        start = at = span.start
        while (step := _COMMA_STEP.search(self.text, at, span.end)) is not None:
            mark = step.group()
            at = step.end()
            if mark == ",":
                found.append(Span(start, step.start()))
                start = at
            elif mark in _CLOSED_BY:
                at = min(self.partner[step.start()] + 1, span.end)
        found.append(Span(start, span.end))
        return [piece for piece in found if self.part_text(piece)]

    def path(self, span: Span, *, is_function: bool = False) -> list[Part]:
        """Return the components of the qualified name in a span, its return type left out.

        An empty list means that the text is no C++ name: a label such as `Memset (Device)`.
        With `is_function` any word in front counts as a return type.
        """
        return _PathReader(self, span, is_function).read()


class _PathReader:
    def __init__(self, name: CppName, span: Span, is_function: bool) -> None:
        self.name = name
        self.text = name.text
        self.is_function = is_function
        self.end = span.end
        self.at = span.start
        self.parts: list[Part] = []
        self.word = ""
        self.arguments: Span | None = None
        self.has_parameters = False

    def read(self) -> list[Part]:
        while self.at < self.end:
            step = _STEP.search(self.text, self.at, self.end)
            if step is None:
                self.word += self.text[self.at : self.end]
                break
            self.word += self.text[self.at : step.start()]
            self.at = step.end()
            if not self.take(step.group(), step.start()):
                break
        if self.word:
            self.finish_part()
        return self.parts

    def take(self, mark: str, start: int) -> bool:
        """Handle one mark; False ends the name."""
        if mark == "::":
            self.finish_part()
            return True
        if mark == " ":
            return self.take_blank(start)
        if mark.startswith("operator"):
            self.word += mark
            return True
        for anonymous in _ANONYMOUS:
            if not self.word and self.text.startswith(anonymous, start):
                self.word, self.at = anonymous, start + len(anonymous)
                return True
        return self.take_group(mark, start)

    def take_group(self, mark: str, start: int) -> bool:
        close = min(self.name.partner[start] + 1, self.end)
        self.at = close
        if mark == "(":
            if not self.word:
                self.parts.clear()
                return False
            self.has_parameters = True
            following = _AFTER_PARAMETERS.match(self.text, close, self.end)
            if following is None:
                return False
            self.at = following.end() - 2
            return True
        if mark == "<" and self.word:
            self.arguments = Span(start + 1, min(self.name.partner[start], self.end))
            return True
        self.word += self.text[start:close]
        return True

    def take_blank(self, start: int) -> bool:
        """Forget a return type; stop where a blank cannot follow one."""
        if self.word.startswith("operator"):
            self.word += " "
            return True
        if _ENDS_NAME.match(self.text, self.at, self.end):
            return False
        looks_like_type = (
            self.is_function or self.parts or self.arguments or self.text[start - 1] in "*&>"
        )
        if self.word and not looks_like_type and not _TYPE_WORD.match(self.word):
            self.parts.clear()
            self.word = ""
            return False
        self.parts.clear()
        self.word, self.arguments, self.has_parameters = "", None, False
        return True

    def finish_part(self) -> None:
        if self.word:
            self.parts.append(Part(self.word.rstrip(), self.arguments, self.has_parameters))
        self.word, self.arguments, self.has_parameters = "", None, False


def _pair_brackets(text: str) -> dict[int, int]:
    """Return the position of every opening bracket's partner; unclosed ones end with the text.

    A `<` or `>` that is a comparison finds no partner and is closed by the bracket around it.
    """
    partner: dict[int, int] = {}
    open_at: list[int] = []
    solid: list[int] = []  # where in `open_at` the brackets other than `<` are
    for found in _BRACKET.finditer(text):
        mark, at = found.group(), found.start()
        if mark in _CLOSED_BY:
            if mark != "<":
                solid.append(len(open_at))
            open_at.append(at)
        elif mark == ">":
            if open_at and text[open_at[-1]] == "<":
                partner[open_at.pop()] = at
        elif mark in _CLOSING and solid and _CLOSED_BY[text[open_at[solid[-1]]]] == mark:
            depth = solid.pop()
            partner.update(dict.fromkeys(open_at[depth:], at))
            del open_at[depth:]
    partner.update(dict.fromkeys(open_at, len(text)))
    return partner
