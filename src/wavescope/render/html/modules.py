"""ES modules as one classic script: a page that stands alone cannot fetch any.

Each module becomes a function that is called once and returns what it exports. Only what the
package's own modules use is understood, each at the start of a line:

    import { a, b } from "./other.js";
    export const a = ...    export class B ...    export [async] function c() ...

Anything else is an error, and so are modules that need each other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_COMMENT = re.compile(r"/\*\*.*?\*/[ \t]*\n?|^[ \t]*//[^\n]*\n", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(
    r"^import\s*\{\s*(\w+(?:\s*,\s*\w+)*)\s*,?\s*\}\s*from\s*\"(\.\.?/[\w./-]+\.js)\";[ \t]*$",
    re.MULTILINE,
)
_TARGET = re.compile(r"^(?:import\b[^;]*|\}) from \"(\.\.?/[\w./-]+\.js)\";", re.MULTILINE)
_EXPORT = re.compile(
    r"^export ((?:const|class|(?:async )?function\*?) +(\w+)\b)",
    re.MULTILINE,
)
_OTHER = re.compile(r"^(?:import|export)\b.*$|\bimport\s*(?:\(|\.).*$", re.MULTILINE)


class Module(NamedTuple):
    """A module's own code, what it takes from others by their paths, and what it gives."""

    imports: Sequence[tuple[str, tuple[str, ...]]]
    exports: tuple[str, ...]
    body: str


def joined_script(paths: Sequence[str], read: Callable[[str], str]) -> str:
    """One script that runs the modules at `paths` in order, those they import before them.

    `read` has the text of a module by its path; a module runs once, whoever imports it.
    """
    modules: dict[str, Module] = {}
    for path in paths:
        _add(path, read, modules, ())
    numbers = {path: number for number, path in enumerate(modules)}
    functions = [_as_function(path, modules, numbers) for path in modules]
    return '"use strict";\n(() => {\n' + "\n".join(functions) + "\n})();"


def needed_modules(path: str, read: Callable[[str], str]) -> list[str]:
    """The module at `path`, and all that it or one of these imports, whatever they take from it."""
    needed = {path: None}
    ahead = [path]
    while ahead:
        path = ahead.pop()
        found = [_beside(path, target) for target in _TARGET.findall(read(path))]
        ahead += [other for other in found if other not in needed]
        needed |= dict.fromkeys(found)
    return list(needed)


def _beside(path: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def parsed_module(path: str, text: str) -> Module:
    """The parts of the module at `path`; comments are left out."""
    code = _COMMENT.sub("", text)
    imports = [
        (_beside(path, target), tuple(name.strip() for name in names.split(",")))
        for names, target in _IMPORT.findall(code)
    ]
    exports = tuple(name for _, name in _EXPORT.findall(code))
    body = _EXPORT.sub(r"\1", _IMPORT.sub("", code)).strip()
    other = _OTHER.search(body)
    if other is not None:
        raise ValueError(f"{path}: a form that is not understood: {other[0].strip()}")
    if "</script" in body.lower():
        raise ValueError(f"{path}: what would end the element that the script stands in")
    return Module(imports, exports, body)


def _add(
    path: str, read: Callable[[str], str], modules: dict[str, Module], before: tuple[str, ...]
) -> None:
    """Put the module after those it imports; `before` are those that are waiting for it."""
    if path in before:
        raise ValueError(f"modules that need each other: {' -> '.join([*before, path])}")
    if path in modules:
        return
    module = parsed_module(path, read(path))
    for other, names in module.imports:
        _add(other, read, modules, (*before, path))
        missing = [name for name in names if name not in modules[other].exports]
        if missing:
            raise ValueError(f"{path}: {other} does not export {', '.join(missing)}")
    modules[path] = module


def _as_function(path: str, modules: dict[str, Module], numbers: dict[str, int]) -> str:
    module = modules[path]
    taken = [
        f"const {{ {', '.join(names)} }} = module{numbers[other]};"
        for other, names in module.imports
    ]
    given = [f"return {{ {', '.join(module.exports)} }};"] if module.exports else []
    body = "\n".join([*taken, module.body, *given])
    return f"const module{numbers[path]} = (() => {{\n{body}\n}})();"
