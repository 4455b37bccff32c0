"""The page of all public names of Python, from their signatures and docstrings."""

from __future__ import annotations

import enum
import html
import inspect
from typing import Any

import wavescope

INTRODUCTION = """# Python reference

Every public name of `import wavescope`, by its own words. [Python](python.md) has examples and says
which of them belong together."""


def python_reference() -> str:
    """The page: a section for each name of `wavescope.__all__`."""
    names = [name for name in wavescope.__all__ if not name.startswith("_")]
    return "\n\n".join([INTRODUCTION, *map(_section, names)]) + "\n"


def _section(name: str) -> str:
    value = getattr(wavescope, name)
    words = html.escape(inspect.getdoc(value) or "", quote=False)
    return f"## {name}\n\n```python\n{_spelled(name, value)}\n```\n\n{words}"


def _spelled(name: str, value: Any) -> str:
    """How it is called, or which values it has."""
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return f"{name}: {', '.join(member.name for member in value)}"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    private = [word for word in signature.parameters.values() if word.name.startswith("_")]
    words = [str(word).replace("'", "") for word in signature.parameters.values()]
    shown = [word for word in words if word not in {str(each).replace("'", "") for each in private}]
    return f"{name}(" + "".join(f"\n    {word}," for word in shown) + ("\n)" if shown else ")")
