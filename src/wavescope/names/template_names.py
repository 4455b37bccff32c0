"""Short names for C++ template kernels: the kernel, and in parentheses what it was made for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from wavescope.names.cpp_name import CppName, Part, Span

_LAMBDA = re.compile(r"(?:\{lambda|\[lambda|'lambda|\{unnamed|'unnamed)")
_LAMBDA_NUMBER = re.compile(r"#(\d+)\}$|instance (\d+)\)?\]$")
_ENUMERATOR = re.compile(r"\((?:\w+::|\(anonymous namespace\)::)*(\w+)\)(-?\d+)$")
_INNER_ENUMERATOR = re.compile(r"\((?:\w+::)*(\w+)\)([1-9]\d*)")
_FUNCTOR = re.compile(r"\w*(?:Functor|functor|Ops|Op|SoftMax\w*Epilogue)(?:_\w+)?$")
_TILE = re.compile(r"cute::tuple<cute::C<(\d+)>, ?cute::C<(\d+)>, ?cute::C<(\d+)> ?>")
_GRIDWISE = re.compile(r"^Gridwise\w*?_([A-Z]\w+)$")
# A class that names the chip a Composable Kernel was built for.
_CHIP = re.compile(r"gfx\w+_t")
# What a reader can still take in; the full name is never far.
MOST_DETAILS = 3
LONGEST_DETAIL = 80
_DEEPEST = 12


class TemplateTables(NamedTuple):
    """The tables of `rules/kernel_names.toml` that template names are read with."""

    dropped_component: re.Pattern[str]
    dropped_prefixes: tuple[tuple[str, ...], ...]
    kernel_wrappers: frozenset[str]
    kernel_rename: Mapping[str, str]
    kernel_detail: Mapping[str, str]
    functor_kernels: frozenset[str]
    functor_wrappers: frozenset[str]
    scalar_wrappers: frozenset[str]
    standard_functors: frozenset[str]
    operands_of: frozenset[str]
    operands_except: frozenset[str]
    functor_suffixes: tuple[str, ...]
    functor_prefixes: tuple[str, ...]
    functor_rename: Mapping[str, str]
    functor_lambdas: Mapping[str, list[str]]
    enumerators: Mapping[str, list[str]]
    ignored_enumerations: frozenset[str]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> TemplateTables:
        """Return the tables of a parsed TOML document."""
        namespaces, kernels = document["namespaces"], document["kernels"]
        functors = document["functors"]
        return cls(
            dropped_component=re.compile("|".join(namespaces["drop"])),
            dropped_prefixes=tuple(tuple(p.split("::")) for p in namespaces["drop_prefixes"]),
            kernel_wrappers=frozenset(kernels["wrappers"]),
            kernel_rename=kernels["rename"],
            kernel_detail=kernels["detail"],
            functor_kernels=frozenset(kernels["of_functors"]),
            functor_wrappers=frozenset(functors["wrappers"]),
            scalar_wrappers=frozenset(functors["scalar_wrappers"]),
            standard_functors=frozenset(functors["standard"]),
            operands_of=frozenset(functors["operands_of"]),
            operands_except=frozenset(functors["operands_except"]),
            functor_suffixes=tuple(functors["suffixes"]),
            functor_prefixes=tuple(functors["prefixes"]),
            functor_rename=functors["rename"],
            functor_lambdas=functors["lambdas"],
            enumerators=document["enumerators"]["names"],
            ignored_enumerations=frozenset(document["enumerators"]["ignored"]),
        )


class TemplateNames:
    """Shortens demangled names by the tables."""

    def __init__(self, tables: TemplateTables) -> None:
        self.tables = tables

    def short(self, demangled: str) -> str:
        """Return the short name, or the text itself when it is no C++ signature."""
        name = CppName(demangled)
        path = self.kernel_path(name, name.whole(), 0)
        return self.short_of(name, path) if path else demangled

    def components(self, demangled: str) -> list[str]:
        """Return the names of the kernel and of the namespaces around it, the kernel's last."""
        name = CppName(demangled)
        return [part.name for part in self.kernel_path(name, name.whole(), 0)]

    def kernel_path(self, name: CppName, span: Span, depth: int) -> list[Part]:
        """Return the qualified name of the kernel that a span names, inside its wrappers."""
        path = name.path(span)
        if not path or path[-1].name not in self.tables.kernel_wrappers or depth >= _DEEPEST:
            return path
        arguments = path[-1].arguments
        for argument in name.arguments(arguments) if arguments else []:
            inner = name.path(argument)
            if not inner or _CHIP.fullmatch(inner[-1].name):
                continue
            if inner[-1].arguments or inner[-1].name[0].isalpha():
                wrapped = self.kernel_path(name, argument, depth + 1)
                if wrapped and not wrapped[-1].name[0].isdecimal():
                    return wrapped
        return path

    def short_of(self, name: CppName, path: list[Part]) -> str:
        kernel = path[-1]
        arguments = name.arguments(kernel.arguments) if kernel.arguments else []
        text = "::".join(self.readable_path(path))
        details = list(dict.fromkeys(self.details(name, kernel, arguments)))[:MOST_DETAILS]
        # A number belongs to the detail before it: `(GemmSpatial #1)`.
        shown = ", ".join(details).replace(", #", " #")
        return f"{text} ({shown})" if shown else text

    def readable_path(self, path: list[Part]) -> list[str]:
        """Return the components worth showing, the kernel's own always among them."""
        names = [part.name for part in path]
        for prefix in self.tables.dropped_prefixes:
            if tuple(names[: len(prefix)]) == prefix and len(names) > len(prefix):
                del names[: len(prefix)]
                break
        *outer, own = names
        dropped = self.tables.dropped_component
        kept = [component for component in outer if not dropped.fullmatch(component)]
        own = self.tables.kernel_rename.get(own, own)
        if kept and kept[0] in ("aiter", "ck"):
            own = own.removeprefix("kernel_").removesuffix("_kernel") or own
        return [*kept, own]

    # What stands in the parentheses.

    def details(self, name: CppName, kernel: Part, arguments: list[Span]) -> Iterator[str]:
        if kernel.name in self.tables.kernel_detail:
            yield self.tables.kernel_detail[kernel.name]
        operands = [self.operand(name, argument, kernel.name) for argument in arguments]
        if not any(operands) and kernel.name in self.tables.functor_kernels:
            operands = [self.first_class(name, arguments)]
        yield from (text[:LONGEST_DETAIL] for text in operands if text)
        if kernel.arguments is not None:
            yield from self.inner_details(name, kernel.arguments)

    def first_class(self, name: CppName, arguments: list[Span]) -> str:
        """Return the first argument that is a class: the functor nothing else is known about."""
        for argument in arguments:
            path = name.path(argument)
            if len(path) > 1 and path[0].name != "std":
                return self.clean(path[-1].name)
        return ""

    def inner_details(self, name: CppName, span: Span) -> Iterator[str]:
        """Yield what stands deeper in the arguments: a CUTLASS tile, ck_tile's enumerators."""
        tile = _first_tile(name, span)
        if tile:
            yield tile
        if name.text.find("ck_tile::", span.start, span.end) >= 0:
            for found in _INNER_ENUMERATOR.finditer(name.text, span.start, span.end):
                text = self.enumerator(found.group(1), int(found.group(2)), "")
                if text:
                    yield text

    def operand(self, name: CppName, span: Span, kernel: str) -> str:
        """Return what a template argument says about the kernel's purpose, if anything."""
        text = name.part_text(span)
        enumerator = _ENUMERATOR.match(text)
        if enumerator is not None:
            return self.enumerator(enumerator.group(1), int(enumerator.group(2)), kernel)
        if not text or text[0].isdecimal() or text in ("true", "false"):
            return ""
        described = self.functor(name, span, 0)
        if described or kernel not in self.tables.operands_of:
            return described or self.inner_marks(name, span)
        path = name.path(span)
        if len(path) < 2 or path[-1].name in self.tables.operands_except:
            return ""
        return self.clean(path[-1].name) if path[0].name == "at" else ""

    def enumerator(self, name: str, number: int, kernel: str) -> str:
        """Return the name of an enumerator, or the enumeration's and its number unless 0."""
        if name in self.tables.ignored_enumerations:
            return ""
        tables = self.tables.enumerators
        known = tables.get(f"{kernel}.{name}", tables.get(name, []))
        if 0 <= number < len(known) and known[number]:
            return known[number]
        return f"{name.removesuffix('Enum')} {number}" if number else ""

    def inner_marks(self, name: CppName, span: Span) -> str:
        """Return what distinguishes instances of a Composable Kernel class, seen in its name."""
        path = name.path(span)
        if not path:
            return ""
        own = path[-1].name
        if own.startswith("GemmSpatiallyLocal"):
            return "GemmSpatial"
        gridwise = _GRIDWISE.match(own)
        if gridwise is not None and path[0].name == "ck":
            return gridwise.group(1)
        return ""

    def functor(self, name: CppName, span: Span, depth: int) -> str:
        """Return the operation a functor, lambda or function pointer stands for."""
        text = name.part_text(span)
        if text.startswith("&(") and depth < _DEEPEST:
            opening = name.text.index("&(", span.start) + 1
            return self.function(name, Span(opening + 1, name.partner[opening]))
        path = name.path(span)
        if not path or depth > _DEEPEST:
            return ""
        for position, part in enumerate(path):
            if _LAMBDA.match(part.name):
                return self.from_lambda(name, path, position, depth)
        own = path[-1]
        if own.name in self.tables.scalar_wrappers:
            inner = self.wrapped(name, own, depth)
            return f"{inner} scalar" if inner else ""
        if own.name in self.tables.functor_wrappers:
            return self.wrapped(name, own, depth)
        if path[0].name == "std" and own.name in self.tables.standard_functors:
            return own.name
        if own.name in self.tables.functor_rename or _FUNCTOR.match(own.name):
            return self.clean(own.name) + self.own_enumerators(name, own)
        return ""

    def wrapped(self, name: CppName, part: Part, depth: int) -> str:
        if part.arguments is None:
            return ""
        for argument in name.arguments(part.arguments):
            found = self.functor(name, argument, depth + 1)
            if found:
                return found
        return ""

    def own_enumerators(self, name: CppName, part: Part) -> str:
        """Return the non-zero enumerators a functor was instantiated with, each with a blank."""
        if part.arguments is None:
            return ""
        found = ""
        for argument in name.arguments(part.arguments):
            enumerator = _ENUMERATOR.match(name.part_text(argument))
            if enumerator is not None:
                text = self.enumerator(enumerator.group(1), int(enumerator.group(2)), "")
                found += f" {text}" if text else ""
        return found

    def from_lambda(self, name: CppName, path: list[Part], position: int, depth: int) -> str:
        """Return what the function around a lambda is called, and which of its lambdas it is."""
        enclosing = [part for part in path[:position] if not part.name.startswith("operator")]
        if not enclosing:
            return ""
        function = enclosing[-1]
        if function.name in self.tables.functor_wrappers:
            return self.wrapped(name, function, depth)
        outer_number = _lambda_number(path[position].name)
        meanings = self.tables.functor_lambdas.get(function.name, [])
        if 1 <= outer_number <= len(meanings):
            return meanings[outer_number - 1]
        # Each type a function is instantiated for has its own scope, so that the innermost lambda
        # has a number above 1 only where one scope holds several operations.
        last_number = _lambda_number(path[-1].name)
        return self.clean(function.name) + (f" #{last_number}" if last_number > 1 else "")

    def function(self, name: CppName, span: Span) -> str:
        """Return a function given by its address, with its template arguments when short."""
        path = name.path(span, is_function=True)
        if not path:
            return ""
        own = path[-1]
        arguments = name.part_text(own.arguments) if own.arguments else ""
        # One argument is the type the kernel works on; several tell from what to what.
        shown = f"<{arguments}>" if "," in arguments and len(arguments) <= 40 else ""
        return self.clean(own.name) + shown

    def clean(self, functor: str) -> str:
        """Return a functor's name without the parts that every functor has."""
        renamed = self.tables.functor_rename.get(functor)
        if renamed is not None:
            return renamed
        text = functor
        for suffix in self.tables.functor_suffixes:
            if text.endswith(suffix) and len(text) > len(suffix):
                text = text.removesuffix(suffix)
                break
        for prefix in self.tables.functor_prefixes:
            if text.startswith(prefix) and len(text) > len(prefix):
                return text.removeprefix(prefix)
        return text


def _lambda_number(component: str) -> int:
    found = _LAMBDA_NUMBER.search(component)
    return int(found.group(1) or found.group(2)) if found else 1


def _first_tile(name: CppName, arguments: Span) -> str:
    """Return the tile of a CUTLASS kernel: the first shape that is not a small cluster."""
    for found in _TILE.finditer(name.text, arguments.start, arguments.end):
        sizes = found.groups()
        if max(map(int, sizes)) > 8:
            return "x".join(sizes)
    return ""
