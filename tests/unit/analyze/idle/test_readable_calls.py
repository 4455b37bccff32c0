"""Host calls as people name them."""

from __future__ import annotations

import pytest

from wavescope.analyze.idle.readable_calls import is_one_time, readable_call, says_what


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("scipy/ndimage/_interpolation.py(739): zoom", "scipy.ndimage.zoom"),
        ("/usr/lib/python3/dist-packages/numpy/core/x.py(1): dot", "numpy.core.x.dot"),
        ("/opt/v/lib/python3.12/site-packages/torch/nn/a.py(2): f", "torch.nn.a.f"),
        ("/opt/lib/python3.12/inspect.py(3): signature", "inspect.signature"),
        ("/srv/app/managers/scheduler.py(9): run", "managers.scheduler.run"),
        ("torch/__init__.py(5): compile", "torch.compile"),
        ("<string>(1): <module>", "<module>"),
        ("<built-in function zoom_shift>", "zoom_shift"),
        ("<built-in method copy_ of Tensor object at 0x7ed6e00c44a0>", "Tensor.copy_"),
        ("<built-in method tensor of type object at 0x7f1abc7fc9c0>", "tensor"),
        ("<built-in method run of PyCapsule object at 0x1>", "run"),
        ("aten::mm", "aten::mm"),
        ("nn.Module: Linear_0", "nn.Module: Linear_0"),
        ("hipLaunchKernel", "hipLaunchKernel"),
        ("x" * 9_999, "x" * 100),
        ("", ""),
    ],
)
def test_names(name: str, shown: str) -> None:
    assert readable_call(name) == shown


def test_what_only_calls_others_does_not_say_what_is_done() -> None:
    assert not says_what("<built-in function next>")
    assert not says_what("torch/utils/_device.py(99): __torch_function__")
    assert says_what("scipy/ndimage/_interpolation.py(739): zoom")
    assert says_what("aten::mm")


@pytest.mark.parametrize(
    "name",
    [
        "torch/_inductor/cudagraph_trees.py(2100): _record",
        "hipModuleLoadData",
        "hipGraphInstantiate",
        "hiprtcCompileProgram",
        "triton/runtime/autotuner.py(200): autotune",
        "torch/_dynamo/convert_frame.py(700): _compile",
        "Runtime Triggered Module Loading",
    ],
)
def test_what_is_done_once(name: str) -> None:
    assert is_one_time(name)


@pytest.mark.parametrize(
    "name",
    [
        "aten::mm",
        "hipLaunchKernel",
        "hipGraphLaunch",
        "app/model.py(3): record",
        "torch/_compile.py(32): inner",
        "torch/_inductor/codecache.py(1131): __call__",
        "torch/_inductor/compile_fx.py(900): run",
    ],
)
def test_what_is_done_again_and_again(name: str) -> None:
    assert not is_one_time(name)
