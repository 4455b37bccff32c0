"""Formulas by the names of operators."""

from collections.abc import Mapping

from wavescope.analyze.work.formulas.attention import ATTENTION_FORMULAS
from wavescope.analyze.work.formulas.convolution import CONVOLUTION_FORMULAS
from wavescope.analyze.work.formulas.elementwise import ELEMENTWISE_FORMULAS
from wavescope.analyze.work.formulas.gemm import GEMM_FORMULAS
from wavescope.analyze.work.formulas.mixture import MIXTURE_FORMULAS
from wavescope.analyze.work.formulas.normalization import NORMALIZATION_FORMULAS
from wavescope.analyze.work.formulas.reduction import REDUCTION_FORMULAS
from wavescope.analyze.work.operator_work import Formula

FORMULAS: Mapping[str, Formula] = {
    **GEMM_FORMULAS,
    **CONVOLUTION_FORMULAS,
    **ATTENTION_FORMULAS,
    **MIXTURE_FORMULAS,
    **NORMALIZATION_FORMULAS,
    **ELEMENTWISE_FORMULAS,
    **REDUCTION_FORMULAS,
}

MATRIX_OPERATORS = frozenset(
    (*GEMM_FORMULAS, *CONVOLUTION_FORMULAS, *ATTENTION_FORMULAS, *MIXTURE_FORMULAS)
)
"""Those whose arithmetic matrix units do."""

__all__ = ["FORMULAS", "MATRIX_OPERATORS"]
