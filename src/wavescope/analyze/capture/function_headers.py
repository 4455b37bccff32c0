"""Which lines of a source file hold no statement of their own: heads of functions, texts, brackets.

Compilers of kernels in Python give instructions without a line of their own the line of the
function around them: its decorator or definition. Nobody can move such a line.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator, Sequence

_DECORATOR = re.compile(r"\s*@\s*[A-Za-z_]")
_DEFINITION = re.compile(r"\s*(async\s+)?def\s+\w+|\s*class\s+\w+.*:")
_WORD = re.compile(r"\w")
_COMMENT = re.compile(r"\s*(#|//|/\*|\*\s|\*/)")
_LONGEST_LINE = 2_000
_HEADS = {
    "@": "decorator",
    "def": "function definition",
    "async": "function definition",
    "class": "function definition",
}
_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
)

Headers = dict[int, str]
"""By line number what it heads."""


def function_headers(lines: Sequence[str], path: str) -> Headers:
    """The lines of a file that head functions, also where a definition takes several lines.

    Files in other languages may hold Python's words, too: lines are then taken one by one.
    """
    headers = {
        number: reason
        for number, line in enumerate(lines, start=1)
        if (reason := _reason_by_text(line[:_LONGEST_LINE]))
    }
    if path.endswith(".py"):
        headers |= dict(_heads_over_several_lines(lines))
    return headers


def is_statement(line: str) -> bool:
    """Whether a line may hold code: no blank line, lone bracket or comment."""
    return bool(_WORD.search(line)) and not _COMMENT.match(line)


def _reason_by_text(line: str) -> str:
    if _DECORATOR.match(line):
        return "decorator"
    return "function definition" if _DEFINITION.match(line) else ""


def _heads_over_several_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """All lines of decorators, definitions and texts that stand alone, up to a mistake in them."""
    ended = (line.rstrip("\r\n") + "\n" for line in lines)
    logical: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(lambda: next(ended, "")):
            if token.type == tokenize.NEWLINE:
                yield from _head(logical)
                logical = []
            elif token.type not in _NO_CODE:
                logical.append(token)
    except (tokenize.TokenError, SyntaxError):
        return


def _head(logical: list[tokenize.TokenInfo]) -> Iterator[tuple[int, str]]:
    if not logical:
        return
    reason = _HEADS.get(logical[0].string, "")
    if all(token.type == tokenize.STRING for token in logical):
        reason = "text of a docstring"
    if logical[0].string == "async" and logical[1:2] and logical[1].string != "def":
        return
    if reason:
        for line in range(logical[0].start[0], logical[-1].end[0] + 1):
            yield line, reason
