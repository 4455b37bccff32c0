"""A small language model that marks its phases; docs/tutorials/prefill-vs-decode.md records it.

    wavescope trace -o trace.db python3 examples/prefill_decode.py              # ROCm and PyTorch
    python3 examples/prefill_decode.py --kineto trace.json.gz                   # CUDA and PyTorch
    wavescope trace --softgpu=gfx90a,durations=examples/prefill_decode.durations \\
        -o trace.db python3 examples/prefill_decode.py                          # no GPU, no PyTorch

With PyTorch and a GPU it computes for real, with random weights. Without, `hip_stand_in.py`
launches kernels of the same shape through the HIP runtime, which is enough for the software GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from typing import Any, Protocol

# The functions of roctx in the global symbol table, where `wavescope trace` puts them.
lib = ctypes.CDLL(None)
HAS_ROCTX = hasattr(lib, "roctxRangePushA")
if HAS_ROCTX:
    roctx_push = lib.roctxRangePushA
    roctx_push.argtypes = [ctypes.c_char_p]
    roctx_push.restype = ctypes.c_int
    roctx_pop = lib.roctxRangePop
    roctx_pop.restype = ctypes.c_int


class Model(Protocol):
    """What both kinds of model can do."""

    def prefill(self, prompt_tokens: int) -> None: ...
    def decode_step(self) -> None: ...
    def synchronize(self) -> None: ...


@contextmanager
def phase(name: str, model: Model) -> Iterator[None]:
    """A marked phase, closed when the GPU has done all of it."""
    annotation: Any = nullcontext()
    if find_spec("torch"):
        import torch  # noqa: PLC0415  not everywhere

        annotation = torch.profiler.record_function(name)
    with annotation:
        if HAS_ROCTX:
            roctx_push(name.encode())
        yield
        model.synchronize()
        if HAS_ROCTX:
            roctx_pop()


def make_model(layers: int, *, extra_copy: bool) -> Model:
    """A model of PyTorch where there is a GPU for it, else one of bare kernel launches."""
    if find_spec("torch"):
        import torch  # noqa: PLC0415

        if torch.cuda.is_available():
            from torch_model import TorchModel  # noqa: PLC0415

            return TorchModel(layers, extra_copy=extra_copy)
    from hip_stand_in import HipStandIn  # noqa: PLC0415

    return HipStandIn(layers, extra_copy=extra_copy)


def serve(model: Model, prompt_tokens: int, tokens: int) -> None:
    """Answer one prompt."""
    with phase("prefill", model):
        model.prefill(prompt_tokens)
    began = time.perf_counter()
    with phase("decode", model):
        for _ in range(tokens):
            model.decode_step()
    seconds = time.perf_counter() - began
    print(f"decode: {tokens} tokens, {tokens / seconds:.1f} tokens/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="prefill and decode of a small language model")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--prompt", type=int, default=1024, help="tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=64, help="tokens to generate")
    parser.add_argument("--requests", type=int, default=1, help="prompts to answer")
    parser.add_argument(
        "--extra-copy", action="store_true", help="a needless copy in every layer of decode"
    )
    parser.add_argument("--kineto", metavar="FILE", help="record with PyTorch's own profiler")
    arguments = parser.parse_args()
    model = make_model(arguments.layers, extra_copy=arguments.extra_copy)
    profiler: Any = nullcontext()
    if arguments.kineto:
        import torch  # noqa: PLC0415

        profiler = torch.profiler.profile()
    with profiler:
        for _ in range(arguments.requests):
            serve(model, arguments.prompt, arguments.tokens)
    if arguments.kineto:
        profiler.export_chrome_trace(arguments.kineto)


if __name__ == "__main__":
    main()
