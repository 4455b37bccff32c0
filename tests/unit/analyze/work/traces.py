"""Traces of operators that launch kernels, for tests of their work."""

from __future__ import annotations

from tests.builders import TraceMaker, a_trace
from tests.unit.analyze.work.inputs import Given, arguments_json

MI300X = {"model": "AMD Instinct MI300X", "cu_count": 304, "wave_size": 64}
H100 = {"model": "NVIDIA H100 80GB HBM3", "cu_count": 132, "wave_size": 32}
US = 1_000


class OperatorTrace:
    """Adds calls and kernels one after the other; each operator takes 100 us of host time."""

    def __init__(self, **agent: int | str) -> None:
        self.maker: TraceMaker = a_trace()
        if agent:
            self.maker.with_agent(0, **agent)
        self.host_ns = 0
        self.gpu_ns = 1_000_000
        self.calls = 0
        self.kernels = 0

    def call(self, name: str, start_ns: int, end_ns: int, category: str, args: str = "") -> int:
        """A call, by its id."""
        self.maker.with_call(name, start_ns, end_ns, category=category, args=args)
        self.calls += 1
        return self.calls

    def kernel(self, name: str, length_ns: int, launched_by: int) -> None:
        """A kernel right after the one before it."""
        self.maker.with_kernel(name, self.gpu_ns, self.gpu_ns + length_ns)
        self.gpu_ns += length_ns
        self.kernels += 1
        self.maker.with_link(launched_by, self.kernels)

    def operator(
        self, name: str, *given: Given, kernels: dict[str, int], launch: str = "hipLaunchKernel"
    ) -> OperatorTrace:
        """One operator that launches kernels with these lengths."""
        self.call(name, self.host_ns, self.host_ns + 90 * US, "cpu_op", arguments_json(*given))
        for number, (kernel, length_ns) in enumerate(kernels.items()):
            start = self.host_ns + (number + 1) * US
            launched = self.call(launch, start, start + 500, "cuda_runtime")
            self.kernel(kernel, length_ns, launched)
        self.host_ns += 100 * US
        return self

    def inside(self, *around: tuple[str, str], of: int) -> OperatorTrace:
        """Calls (name, category) around the last `of` operators, the outermost first."""
        start, end = self.host_ns - of * 100 * US, self.host_ns - 10 * US
        for depth, (name, category) in enumerate(reversed(around), start=1):
            wider_ns = 10 * of + depth
            self.call(name, start - wider_ns, end + wider_ns, category)
        return self
