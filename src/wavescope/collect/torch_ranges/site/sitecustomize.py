"""Ranges around torch operators and modules, so that GPU work is seen where it comes from.

Python imports this at its start when the folder is on PYTHONPATH. It runs inside the user's
program, in any Python from 3.8 on, and imports nothing of wavescope.

Modules are seen at their call, operators by torch's own function mode, which every thread enters.
A range's text is the operator and the place that called it: `torch.nn.functional.relu @net.py:12`.
Nothing is seen inside code that torch compiles, so that what it compiles stays the same.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

_ROCTX_LIBRARIES = (None, "librocprofiler-sdk-roctx.so", "libroctx64.so")
_NO_OPERATORS = frozenset(
    (
        "__get__",
        "__set__",
        "__len__",
        "__hash__",
        "__repr__",
        "device",
        "data_ptr",
        "dim",
        "element_size",
        "get_device",
        "ndimension",
        "nelement",
        "numel",
        "size",
        "storage_offset",
        "stride",
        "untyped_storage",
    )
)
_NO_OPERATOR_BEGINNINGS = ("_set_", "_get_", "_has_", "_is_", "is_")
"""What reads a property of a tensor or turns a switch, and never gives the GPU anything to do."""


def watch_for_torch() -> None:
    """Put ranges around torch's operators as soon as the program imports it."""
    if "torch" in sys.modules:
        install(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _TorchFinder())


class _TorchFinder(importlib.abc.MetaPathFinder):
    """Finds torch as others do, and has a last word when it has been imported."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                install(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install(torch: Any) -> None:
    """Put ranges around operators and modules of this torch, in all threads."""
    functions = _range_functions(torch)
    if functions is None:
        return
    push, pop = functions
    mode = _operator_mode(torch, push, pop)
    _wrap_modules(torch, push, pop)
    _enter_in_new_threads(mode)
    mode().__enter__()  # for the rest of the program


def _range_functions(torch: Any) -> tuple[Callable[[bytes], Any], Callable[[], Any]] | None:
    """Push and pop of the profiler in this process; None where nobody would hear them."""
    for name in _ROCTX_LIBRARIES:
        try:
            # Without giving up the interpreter's lock, which takes longer than a marker does.
            library = ctypes.PyDLL(name)
            push, pop = library.roctxRangePushA, library.roctxRangePop
        except (OSError, AttributeError):
            continue
        push.argtypes, push.restype = [ctypes.c_char_p], ctypes.c_int
        pop.argtypes, pop.restype = [], ctypes.c_int
        return push, pop
    if torch.cuda.is_available():
        nvtx = torch.cuda.nvtx
        return (lambda text: nvtx.range_push(text.decode("utf-8", "replace"))), nvtx.range_pop
    return None


class _Texts:
    """The texts of ranges, made once for every operator and place."""

    def __init__(self, overrides_file: str) -> None:
        self._texts: dict[tuple[Any, CodeType, int], bytes] = {}
        self._overrides_file = overrides_file

    def text(self, key: Any, name: Callable[[Any], str], depth: int) -> bytes:
        """The text for an operator `key` that the frame `depth` above this one calls."""
        frame = sys._getframe(depth + 1)
        # Functions written in Python hand themselves over to the mode: who called them is meant.
        while frame.f_code.co_filename == self._overrides_file and frame.f_back is not None:
            frame = frame.f_back.f_back or frame.f_back
        place = (key, frame.f_code, frame.f_lineno)
        text = self._texts.get(place)
        if text is None:
            file = frame.f_code.co_filename.rsplit("/", 1)[-1]
            text = f"{name(key)} @{file}:{frame.f_lineno}".encode("utf-8", "replace")
            self._texts[place] = text
        return text


def _operator_mode(
    torch: Any, push: Callable[[bytes], Any], pop: Callable[[], Any]
) -> Callable[[], Any]:
    texts = _Texts(torch.overrides.__file__)
    resolve_name = torch.overrides.resolve_name
    is_compiling = torch.compiler.is_compiling

    def operator_name(function: Any) -> str:
        name = resolve_name(function)
        return str(name or f"torch.{function.__name__}")

    class OperatorRanges(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if is_compiling() or not _launches_work(func):
                return func(*args, **(kwargs or {}))
            push(texts.text(func, operator_name, 1))
            try:
                return func(*args, **(kwargs or {}))
            finally:
                pop()

    return OperatorRanges


def _launches_work(function: Any) -> bool:
    """Whether this may be an operator."""
    name = getattr(function, "__name__", "")
    if name in _NO_OPERATORS or name.startswith(_NO_OPERATOR_BEGINNINGS):
        return name == "is_nonzero"  # the one that waits for the GPU
    return getattr(function, "__module__", None) != "torch._ops.profiler"


def _wrap_modules(torch: Any, push: Callable[[bytes], Any], pop: Callable[[], Any]) -> None:
    texts = _Texts(torch.overrides.__file__)
    is_compiling = torch.compiler.is_compiling
    call = torch.nn.Module.__call__

    def module_name(module: type) -> str:
        return f"nn.Module.{module.__name__}.forward"

    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return call(self, *args, **kwargs)
        push(texts.text(type(self), module_name, 1))
        try:
            return call(self, *args, **kwargs)
        finally:
            pop()

    called.__name__, called.__doc__ = call.__name__, call.__doc__
    torch.nn.Module.__call__ = called


def _enter_in_new_threads(mode: Callable[[], Any]) -> None:
    """Function modes belong to a thread: threads started from now on enter it too."""
    start = threading.Thread.start

    def started(self: threading.Thread) -> None:
        run = self.run

        def run_in_mode() -> None:
            with mode():
                run()

        self.run = run_in_mode  # type: ignore[method-assign]
        start(self)

    threading.Thread.start = started  # type: ignore[method-assign]


def _import_the_hidden_one() -> None:
    """Import the sitecustomize that Python would have found without this one, if there is any."""
    here = str(Path(__file__).resolve().parent)
    places = list(sys.path)
    this = sys.modules.pop(__name__)
    sys.path[:] = [place for place in places if str(Path(place).resolve()) != here]
    try:
        importlib.import_module(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
        sys.modules[__name__] = this
    finally:
        sys.path[:] = places


if __name__ == "sitecustomize":
    watch_for_torch()
    _import_the_hidden_one()
