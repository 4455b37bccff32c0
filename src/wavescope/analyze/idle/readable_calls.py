"""Host calls as people name them: `scipy.ndimage.zoom` for a Python frame of a file and line."""

from __future__ import annotations

import re

_LONGEST = 100
_FRAME = re.compile(r"^(?P<path>.+)\((?P<line>\d+)\): (?P<function>.+)$")
_PACKAGES = re.compile(r"^.*(?:(?:site|dist)-packages|lib/python\d[\d.]*)/")
_BUILT_IN = re.compile(
    r"^<built-in (?:function|method) (?P<function>\S+?)(?: of (?P<owner>.+?))?>$"
)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_ONE_TIME_CALL = re.compile(
    r"^(?:hip|cuda|cu|hiprtc|nvrtc)\w*(?:GraphInstantiate|ModuleLoad|CompileProgram)|"
    r"^(?:Runtime Triggered Module|Lazy Function) Loading$"
)
_ONE_TIME_FUNCTION = re.compile(
    r"_?compile(?:_inner|_fx|_fx_inner)?|_compile_fx_inner|capture_begin|capture_end|capture_graph|"
    r"autotune\w*"
)
_RECORDS_A_GRAPH = re.compile(r"cudagraph_trees\.py\(\d+\): _record$")
_PARTS_OF_A_FOREIGN_PATH = 2
"""Of a path outside any folder of packages: its folders say where it is installed."""


def readable_call(name: str) -> str:
    """The name of a call without what only a machine wants to know."""
    bounded = name[: 4 * _LONGEST]
    frame = _FRAME.match(bounded)
    if frame is not None:
        shown = f"{_module(frame['path'])}{frame['function']}"
    else:
        built_in = _BUILT_IN.match(bounded)
        shown = bounded if built_in is None else _owned(built_in)
    return _ADDRESS.sub("", shown)[:_LONGEST]


def says_what(name: str) -> bool:
    """Whether a name tells what is done: built-in functions and `__call__` and the like do not."""
    frame = _FRAME.match(name[: 4 * _LONGEST])
    if frame is not None:
        return not frame["function"].startswith("__")
    return not name.startswith("<built-in ")


def is_one_time(name: str) -> bool:
    """Whether a call of that name compiles, captures or loads what is used many times later."""
    bounded = name[: 4 * _LONGEST]
    frame = _FRAME.match(bounded)
    if frame is None:
        return _ONE_TIME_CALL.search(bounded) is not None
    is_known = _ONE_TIME_FUNCTION.fullmatch(frame["function"]) is not None
    return is_known or _RECORDS_A_GRAPH.search(bounded) is not None


def _module(path: str) -> str:
    """`scipy/ndimage/_interpolation.py` as `scipy.ndimage.`: private parts are left out."""
    if not path.endswith(".py"):
        return ""
    inside = _PACKAGES.sub("", path)
    parts = [part for part in inside.removesuffix(".py").split("/") if part]
    if inside.startswith("/"):
        parts = parts[-_PARTS_OF_A_FOREIGN_PATH:]
    public = [part for part in parts if not part.startswith("_")]
    return "".join(f"{part}." for part in public)


def _owned(built_in: re.Match[str]) -> str:
    owner = (built_in["owner"] or "").split(" ")[0]
    is_class = owner[:1].isupper() and owner != "PyCapsule"
    return f"{owner}.{built_in['function']}" if is_class else built_in["function"]
