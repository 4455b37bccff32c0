"""What findings on GPU time count, and what they leave to others."""

from __future__ import annotations

import pytest

from tests.builders import TraceMaker, a_trace
from tests.unit.analyze.findings import traces
from tests.unit.analyze.findings.traces import ADD, GEMM, MOE, SOFTMAX, US
from tests.unit.analyze.work.inputs import BF16, FLOAT
from tests.unit.analyze.work.traces import H100, MI300X, OperatorTrace
from wavescope.analyze.findings import findings
from wavescope.model.result import Finding

NORM = "rms_norm_kernel"
LOG_SOFTMAX = (
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, "
    "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)"
)
LOG_SOFTMAX_OF_WARPS = (
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*)"
)
ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4> >(int)"
)


def told(maker: TraceMaker) -> dict[str, Finding]:
    return {finding.id: finding for finding in findings(maker.build())}


class TestUnfusedAttention:
    def test_parts_are_added_up(self) -> None:
        found = told(traces.attention_in_parts())["unfused-attention"]

        # of 6 kernels of 100 us two are products, one is softmax, two are between; 20 times
        assert dict(found.numbers) == {
            "attention_count": 20,
            "products_ns": 4_000 * US,
            "softmax_ns": 2_000 * US,
            "between_ns": 4_000 * US,
            "gpu_time_percent": 500 / 6,
            "first_op": 1,
            "last_op": 5,
        }
        # without shapes only what is not a product can go: 6 of 12 ms
        assert found.gain_percent == 50.0

    def test_other_queues_are_no_neighbours(self) -> None:
        maker = a_trace()
        for index in range(60):
            start = index * 100 * US
            maker.with_kernel((GEMM, SOFTMAX, GEMM)[index % 3], start, start + 90 * US)
            maker.with_kernel(NORM, start, start + 90 * US, queue=1)

        assert told(maker)["unfused-attention"].numbers["attention_count"] == 20
        apart = a_trace()
        for index in range(60):
            start = index * 100 * US
            name = (GEMM, SOFTMAX, GEMM)[index % 3]
            apart.with_kernel(name, start, start + 90 * US, queue=index % 3)

        assert "unfused-attention" not in told(apart)

    def test_products_with_weights_around_a_softmax_are_no_attention(self) -> None:
        def made(operator: str) -> TraceMaker:
            trace = OperatorTrace(**MI300X)
            for _ in range(20):
                trace.operator(operator, kernels={GEMM: 100 * US})
                trace.operator("aten::_softmax", kernels={SOFTMAX: 100 * US})
                trace.operator(operator, kernels={GEMM: 100 * US})
                trace.operator("aten::rms_norm", kernels={NORM: 100 * US})
            return trace.maker

        assert "unfused-attention" in told(made("aten::bmm"))
        assert "unfused-attention" not in told(made("aten::addmm"))

    @pytest.mark.parametrize(
        ("softmax", "after"),
        [
            (LOG_SOFTMAX, {}),
            (LOG_SOFTMAX_OF_WARPS, {}),
            (SOFTMAX, {"name": ADAM}),
            (SOFTMAX, {"name": "", "type": "CopyDeviceToHost"}),
            (SOFTMAX, {"name": "", "type": "CopyHostToDevice"}),
        ],
    )
    def test_the_end_of_a_classifier_and_the_next_beginning_are_no_attention(
        self, softmax: str, after: dict[str, str]
    ) -> None:
        maker = a_trace()
        for index in range(0, 80, 4):
            for place, kernel in enumerate((GEMM, softmax, after, GEMM)):
                start = (index + place) * 100 * US
                given = {"name": kernel} if isinstance(kernel, str) else kernel
                if given:
                    maker.with_op(start_ns=start, end_ns=start + 90 * US, **given)

        assert "unfused-attention" not in told(maker)

    def test_a_scale_between_the_parts_may_be_a_lambda(self) -> None:
        scale = "void at::native::vectorized_elementwise_kernel<4, at::native::mul(){lambda()#1}>"
        maker = a_trace()
        for index in range(80):
            start = index * 100 * US
            maker.with_kernel((GEMM, scale, SOFTMAX, GEMM)[index % 4], start, start + 90 * US)

        assert told(maker)["unfused-attention"].numbers["attention_count"] == 20

    def test_with_shapes_both_products_at_the_peak_remain(self) -> None:
        trace = OperatorTrace(**MI300X)
        for _ in range(20):
            scores = ((BF16, (16, 2048, 64)), (BF16, (16, 64, 2048)))
            values = ((BF16, (16, 2048, 2048)), (BF16, (16, 2048, 64)))
            trace.operator("aten::bmm", *scores, kernels={GEMM: 200 * US})
            trace.operator("aten::_softmax", kernels={SOFTMAX: 600 * US})
            trace.operator("aten::bmm", *values, kernels={GEMM: 200 * US})
        found = told(trace.maker)

        # 2 * 2*16*2048*2048*64 = 17.18 GFLOP take 13.14 us of 1,000 us
        gain = found["unfused-attention"].gain_percent
        assert gain is not None and abs(gain - 98.686) < 0.001
        assert "above-roofline" not in found
        assert "dominant-work" not in found


class TestAboveRoofline:
    def test_the_sentence_names_rate_peak_and_time(self) -> None:
        found = told(traces.products_of("aten::mm", BF16, 400 * US))

        # 137.4 GFLOP take 138.9 us at 989.4 TFLOP/s, 60 times 400 us were taken
        assert found["above-roofline"].title == (
            "aten::mm runs at 35 % of H100 SXM's bf16 matrix peak; 15.67 ms above the roofline in "
            "total"
        )
        assert (
            found["above-roofline"].numbers["above_roofline_ns"] == 15_665_315
        )  # 60 * (400,000 - 138,911.41)
        assert "dominant-work" not in found

    def test_short_calls_and_impossible_rates_are_left_out(self) -> None:
        short = OperatorTrace(**H100)
        fast = OperatorTrace(**H100)
        for _ in range(60):
            short.operator(
                "aten::mm", (BF16, (256, 256)), (BF16, (256, 256)), kernels={GEMM: 50 * US}
            )
            matrix = (BF16, (8192, 8192))
            fast.operator("aten::mm", matrix, matrix, kernels={GEMM: 50 * US})

        assert "above-roofline" not in told(short.maker)
        assert "above-roofline" not in told(fast.maker)

    def test_what_fusing_removes_is_told_once(self) -> None:
        trace = OperatorTrace(**H100)
        big = (FLOAT, (4096, 4096))
        for _ in range(30):
            trace.operator("aten::mul", big, big, kernels={ADD: 500 * US})
            trace.operator("aten::add", big, big, kernels={ADD: 500 * US})
        found = told(trace.maker)

        assert "unfused-elementwise" in found
        assert "above-roofline" not in found


class TestFullPrecision:
    def test_the_gain_ends_at_the_faster_peak(self) -> None:
        found = told(traces.products_of("aten::mm", FLOAT, 3_000 * US))["full-precision-products"]

        assert found.numbers["faster_type"] == "tf32"
        assert "7 times as fast" in found.title  # 494.7 to 66.9 TFLOP/s
        # 137.4 GFLOP at 494.7 TFLOP/s take 277.8 us of 3,000
        assert found.gain_percent is not None and abs(found.gain_percent - 90.739) < 0.001

    def test_shortened_products_are_none(self) -> None:
        trace = OperatorTrace(**H100)
        matrix = (FLOAT, (4096, 4096))
        for _ in range(60):
            trace.operator("aten::mm", matrix, matrix, kernels={"xmma_tf32f32": 3_000 * US})

        assert "full-precision-products" not in told(trace.maker)


class TestUnfusedElementwise:
    def test_each_run_keeps_its_longest_kernel(self) -> None:
        maker = a_trace()
        time = 0
        for _ in range(20):
            for name, length in ((GEMM, 100), (ADD, 10), (ADD, 30), (ADD, 20), (NORM, 50)):
                maker.with_kernel(name, time, time + length * US)
                time += length * US
        found = told(maker)["unfused-elementwise"]

        assert (found.numbers["run_count"], found.numbers["kernel_count"]) == (20, 60)
        assert found.numbers["saved_ns"] == 20 * 30 * US
        assert found.gain_percent == 100 * 30 / 210

    def test_queues_that_work_at_the_same_time_save_it_once(self) -> None:
        maker = a_trace()
        time = 0
        for _ in range(20):
            for name, length in ((GEMM, 100), (ADD, 30), (ADD, 30), (ADD, 30)):
                for queue in range(4):
                    maker.with_kernel(name, time, time + length * US, queue=queue)
                time += length * US
        found = told(maker)["unfused-elementwise"]

        assert found.numbers["saved_ns"] == 4 * 20 * 60 * US
        assert found.gain_percent == pytest.approx(100 * 60 / 190)

    def test_the_run_that_costs_most_is_named(self) -> None:
        maker = a_trace()
        time = 0
        for number in range(20):
            # Beside the 200 us of one product on another queue none of these is in a run with it.
            second = 90 if number == 7 else 30
            for name, length, queue in (
                (GEMM, 100, 1),
                (ADD, 60, 0),
                (ADD, second, 0),
                (NORM, 50, 0),
            ):
                maker.with_kernel(name, time, time + length * US, queue=queue)
                time += length * US
        numbers = told(maker)["unfused-elementwise"].numbers

        assert (numbers["first_op"], numbers["last_op"]) == (7 * 4 + 2, 7 * 4 + 3)

    def test_compiled_kernels_and_the_runtimes_copies_cannot_be_fused(self) -> None:
        for name in ("triton_poi_fused_add_0", "__amd_rocclr_copyBuffer"):
            maker = traces.in_a_row([GEMM, name, name], 100 * US, 20)

            assert "unfused-elementwise" not in told(maker)


class TestDominantWork:
    def test_the_largest_category_and_its_kernels_are_named(self) -> None:
        found = told(traces.in_a_row([MOE, MOE, MOE, GEMM], 100 * US, 20))["dominant-work"]

        assert found.title == "MoE kernels take 75.0 % of GPU time"
        assert found.evidence == "6.000 ms in 60 kernels; fused_moe_kernel (60 calls, 6.000 ms)"
        assert found.numbers["category"] == "MoE"

    def test_tiny_traces_say_nothing(self) -> None:
        few = traces.in_a_row([MOE, MOE, GEMM], 100 * US, 10)
        short = traces.in_a_row([MOE, MOE, GEMM], 10 * US, 20)

        assert "dominant-work" not in told(few)
        assert "dominant-work" not in told(short)
