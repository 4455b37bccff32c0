"""A mangled symbol of the Itanium C++ ABI: its letter codes, and reading it within fixed bounds."""

from __future__ import annotations

from typing import NamedTuple

# Characters put together while reading one symbol: real ones need a few times their result.
WORK_LIMIT = 500_000
DEEPEST_NESTING = 64

BUILTIN_TYPES = {
    "v": "void",
    "w": "wchar_t",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
    "e": "long double",
    "g": "__float128",
    "z": "...",
}

BUILTIN_D_TYPES = {
    "a": "auto",
    "c": "decltype(auto)",
    "d": "decimal64",
    "e": "decimal128",
    "f": "decimal32",
    "h": "half",
    "i": "char32_t",
    "n": "decltype(nullptr)",
    "s": "char16_t",
    "u": "char8_t",
}

# How a value of a type is written as a template argument; other types get a cast in front.
LITERAL_SUFFIXES = {"i": "", "j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}

STD_SHORTHANDS = {
    "a": "std::allocator",
    "b": "std::basic_string",
    "s": "std::string",
    "i": "std::istream",
    "o": "std::ostream",
    "d": "std::iostream",
}

# Code -> (spelling, number of operands in an expression).
OPERATORS = {
    "nw": ("new", 0),
    "na": ("new[]", 0),
    "dl": ("delete", 1),
    "da": ("delete[]", 1),
    "aw": ("co_await", 1),
    "ps": ("+", 1),
    "ng": ("-", 1),
    "ad": ("&", 1),
    "de": ("*", 1),
    "co": ("~", 1),
    "nt": ("!", 1),
    "pp": ("++", 1),
    "mm": ("--", 1),
    "pl": ("+", 2),
    "mi": ("-", 2),
    "ml": ("*", 2),
    "dv": ("/", 2),
    "rm": ("%", 2),
    "an": ("&", 2),
    "or": ("|", 2),
    "eo": ("^", 2),
    "aS": ("=", 2),
    "pL": ("+=", 2),
    "mI": ("-=", 2),
    "mL": ("*=", 2),
    "dV": ("/=", 2),
    "rM": ("%=", 2),
    "aN": ("&=", 2),
    "oR": ("|=", 2),
    "eO": ("^=", 2),
    "ls": ("<<", 2),
    "rs": (">>", 2),
    "lS": ("<<=", 2),
    "rS": (">>=", 2),
    "eq": ("==", 2),
    "ne": ("!=", 2),
    "lt": ("<", 2),
    "gt": (">", 2),
    "le": ("<=", 2),
    "ge": (">=", 2),
    "ss": ("<=>", 2),
    "aa": ("&&", 2),
    "oo": ("||", 2),
    "cm": (",", 2),
    "pm": ("->*", 2),
    "pt": ("->", 2),
    "cl": ("()", 0),
    "ix": ("[]", 2),
    "qu": ("?", 3),
}


class NotMangledError(Exception):
    """The text does not follow the grammar, or its expansion is too large."""


class Type(NamedTuple):
    """A type as the text before and after a declared name: `void (*` and `)(int)`."""

    left: str
    right: str = ""

    def __str__(self) -> str:
        return self.left + self.right


Argument = Type | list[Type]  # a list is a parameter pack


class Known(NamedTuple):
    """A part of the symbol that a later `S_` may stand for."""

    argument: Argument
    start: int = 0
    scope: list[Argument] | None = None  # the arguments its `T_` were taken from, if any
    in_lambda: bool = False


class SymbolCursor:
    """One pass over one symbol; every method consumes what it returns."""

    def __init__(self, symbol: str) -> None:
        # The sentinel saves an end-of-text test wherever one character is looked at.
        self.text = symbol + "\0"
        self.at = 0
        self.known: list[Known] = []
        self.arguments: list[Argument] = []
        self.pack_index: int | None = None
        self.pack_length = -1  # -1 until a pack is met
        self.in_lambda = False
        self.parameters_read = 0
        self.work = 0
        self.depth = 0

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise NotMangledError

    def accept(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def peek(self) -> str:
        return self.text[self.at]

    def made(self, text: str) -> str:
        """Return `text`, having counted the work of putting it together."""
        self.work += len(text) + 1
        if self.work > WORK_LIMIT:
            raise NotMangledError
        return text

    def enter(self) -> None:
        self.depth += 1
        self.work += 1
        if self.depth > DEEPEST_NESTING or self.work > WORK_LIMIT:
            raise NotMangledError

    def number(self) -> int:
        start = self.at
        while self.text[self.at].isdecimal() and self.at - start < 9:
            self.at += 1
        if start == self.at or not self.text[start : self.at].isascii():
            raise NotMangledError
        return int(self.text[start : self.at])

    def source_name(self) -> str:
        length = self.number()
        text = self.text[self.at : self.at + length]
        if not length or self.at + length >= len(self.text):
            raise NotMangledError
        self.at += length
        if text.startswith("_GLOBAL_") and text[8:10] in ("_N", ".N", "$N"):
            return "(anonymous namespace)"
        return text

    def ordinal(self) -> int:
        """Return 1 for `_`, 2 for `0_`, 3 for `1_`."""
        if self.accept("_"):
            return 1
        value = self.number() + 2
        self.expect("_")
        return value

    def operator(self) -> tuple[str, int]:
        found = OPERATORS.get(self.text[self.at : self.at + 2])
        if found is None:
            raise NotMangledError
        self.at += 2
        return found


def as_types(argument: Argument) -> list[Type]:
    """Return the types of a pack, or the one type as a list."""
    return argument if isinstance(argument, list) else [argument]
