"""What recorded programs of other frameworks do; tests know how often each kernel runs.

python3 framework_scenarios.py NAME
"""

import sys


def cupy() -> None:
    """25 runs of one kernel that CuPy compiles."""
    import cupy

    twice = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2 * x", "doubling_kernel")
    values = cupy.ones(1024, dtype=cupy.float32)
    for _ in range(25):
        values = twice(values)
    cupy.cuda.Device().synchronize()


def jax() -> None:
    """30 runs of one compiled function: a kernel each, however it is launched."""
    import jax

    @jax.jit
    def rising_step(values):
        return jax.numpy.sin(values) + 1

    values = jax.numpy.ones(1024)
    for _ in range(30):
        values = rising_step(values)
    values.block_until_ready()


def triton() -> None:
    """20 runs of a kernel that Triton compiles."""
    import torch
    import triton
    from triton import language

    @triton.jit
    def adding_kernel(values, size: language.constexpr):
        places = language.arange(0, size)
        language.store(values + places, language.load(values + places) + 1)

    values = torch.zeros(1024, device="cuda")
    for _ in range(20):
        adding_kernel[(1,)](values, size=1024)
    torch.cuda.synchronize()
    assert values[0].item() == 20


if __name__ == "__main__":
    # The modules have the scenarios' names, and are not to be looked for beside this file.
    sys.path = [folder for folder in sys.path if not folder.endswith("programs/cuda")]
    globals()[sys.argv[1]]()
    print("done", sys.argv[1])
