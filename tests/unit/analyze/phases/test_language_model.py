"""Whether a trace is of a language model: names of kernels and calls, sizes, recorded shapes."""

from __future__ import annotations

import json

import pytest

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.phases import PhaseRules, PhaseSource, phases_of
from wavescope.analyze.phases.language_model import Evidence, language_model_evidence
from wavescope.model.toml_files import RulesDocument

GATHER = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*)"
COSINE = "vectorized_elementwise_kernel<4, at::native::cos_kernel_cuda(at::TensorIteratorBase&)>"
RMS = "vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda(at::TensorIteratorBase&)>"
FLASH = "void pytorch_flash::flash_fwd_kernel<traits>(params)"
ARGMAX = "reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>"
CONVOLUTION = "miopenSp3AsmConv_v30_3_1_gfx9_fp16_conv2d"
GEMM = "Cijk_Alik_Bljk_BBS_BH_MT256x128x64_MI16x16x1"


def trace_of(
    *names: str, calls: tuple[str, ...] = (), sizes: dict[str, int] | None = None
) -> TraceMaker:
    maker = a_trace()
    for number, name in enumerate(names):
        size = (sizes or {}).get(name, 1 << 18)
        maker.with_kernel(name, 10 * number, 10 * number + 8, grid_x=size, workgroup_x=128)
    for number, name in enumerate(calls):
        maker.with_call(name, 10 * number, 10 * number + 5)
    return maker


@pytest.mark.parametrize(
    "name",
    [
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(int)",
        "void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16>(int)",
        "fmhaSm100aKernel_QkvBfloat16OBfloat16H128PagedKvDenseP16VarSeqQ8Kv128SwapsAbForGen",
        "BatchPrefillWithPagedKVCacheKernel",
        "void rope_neox<true, false, float>(float const*)",
        "void gated_delta_net_cuda<128, false, false>(float const*)",
        "lm_head_gemm",
    ],
)
def test_one_kernel_that_only_language_models_have_is_enough(name: str) -> None:
    assert language_model_evidence(trace_of(GEMM, name).build()) is Evidence.SURE


@pytest.mark.parametrize(
    "names",
    [
        (GEMM, FLASH, "vectorized_layer_norm_kernel"),  # an image classifier
        (GEMM, FLASH, GATHER, "vectorized_layer_norm_kernel"),  # an encoder of texts
        (GEMM, "cunn_SoftMaxForward", "upsample_nearest1d_out_frame"),  # a video classifier
        (GEMM, FLASH, GATHER, COSINE, RMS, ARGMAX, CONVOLUTION),  # image generation
        ("flash_fwd_splitkv_kernel", GEMM),  # small images
    ],
)
def test_what_other_programs_have_too_is_not(names: tuple[str, ...]) -> None:
    assert language_model_evidence(trace_of(*names).build()) is Evidence.NONE


def test_a_decoder_embeds_as_many_tokens_as_its_layers_work_on() -> None:
    names = (GATHER, COSINE, RMS, FLASH, GEMM)

    of_tokens = trace_of(*names).build()
    of_time_step = trace_of(*names, sizes={GATHER: 256}).build()

    assert language_model_evidence(of_tokens) is Evidence.SURE
    assert language_model_evidence(of_time_step) is Evidence.NONE


def test_most_attention_follows_lookups_of_tokens() -> None:
    """A text is embedded once, and a time step before each of many passes."""
    argmax = "reduce_kernel<512, 1, ReduceOp<int, at::native::ArgMaxOps<int>>>"
    text, step = "indexSelectLargeIndex", GATHER
    names = (text, FLASH, argmax, *(step, COSINE, RMS, GEMM, FLASH, GEMM) * 4)

    diffusion = trace_of(*names, sizes={step: 256}).build()

    assert language_model_evidence(diffusion) is Evidence.NONE


def test_attention_and_argmax_need_steps_of_decode() -> None:
    assert language_model_evidence(trace_of(FLASH, GEMM, ARGMAX).build()) is Evidence.IF_DECODING


@pytest.mark.parametrize(
    ("calls", "evidence"),
    [
        (("nn.Module: LlamaForCausalLM_0",), Evidence.SURE),
        (("transformers/generation/utils.py(2401): generate",), Evidence.SURE),
        (("nn.Module: LlamaForCausalLM_0", "aten::conv2d"), Evidence.NONE),
        (("transformers/models/vit/modeling_vit.py(206): forward",), Evidence.NONE),
        (("LlamaForCausalLM", "diffusers/pipelines/pipeline_utils.py(1): run"), Evidence.NONE),
    ],
)
def test_host_calls_tell_where_kernels_do_not(calls: tuple[str, ...], evidence: Evidence) -> None:
    assert language_model_evidence(trace_of("kernel_1f2e", calls=calls).build()) is evidence


def with_shapes(*, causal: bool, head: bool) -> TraceMaker:
    maker = trace_of(GEMM, "vectorized_layer_norm_kernel")
    calls = (
        ("aten::embedding", [[50257, 768], [2, 600]], ["", ""]),
        ("aten::scaled_dot_product_attention", [[2, 12, 600, 64]] * 3, ["", "", "", "", "0.", str(causal)]),
        ("aten::linear", [[2, 600, 768], [50257 if head else 3072, 768]], ["", ""]),
    )  # fmt: skip
    for number, (name, dims, scalars) in enumerate(calls):
        arguments = json.dumps({"Input Dims": dims, "Concrete Inputs": scalars})
        maker.with_call(name, 10 * number, 10 * number + 5, args=arguments)
    return maker


@pytest.mark.parametrize(
    ("causal", "head", "evidence"),
    [
        (True, True, Evidence.SURE),
        (False, True, Evidence.NONE),  # BERT's masked words
        (True, False, Evidence.NONE),  # the texts of CLIP
    ],
)
def test_a_causal_model_with_a_head_over_its_vocabulary(
    causal: bool, head: bool, evidence: Evidence
) -> None:
    names = with_shapes(causal=causal, head=head)

    assert language_model_evidence(names.with_kernel(GATHER, 90, 95).build()) is evidence


def test_a_rule_of_the_user_is_evidence() -> None:
    rules = PhaseRules.from_document(
        RulesDocument("own.toml", {"phase": [{"match": "^my_ragged", "phase": "decode"}]})
    )
    trace = trace_of("my_ragged_attention", GEMM).build()

    assert language_model_evidence(trace) is Evidence.NONE
    assert language_model_evidence(trace, rules) is Evidence.SURE


def test_without_evidence_no_command_is_told_a_phase() -> None:
    """Steps of two sizes, as of images in batches of 64 and one by one."""
    maker, now_ns = a_trace(), 0
    for step in range(12):
        rows = 197 * (64 if step % 6 == 0 else 1)
        for name in ["vectorized_layer_norm_kernel", GEMM, FLASH] * 4 + [ARGMAX]:
            maker.with_kernel(name, now_ns, now_ns + 20 * rows, grid_x=256 * rows, workgroup_x=256)
            now_ns += 20 * rows + 500
        now_ns += 50_000

    assert phases_of(maker.build()).source is PhaseSource.NONE
