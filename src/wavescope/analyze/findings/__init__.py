"""What is worth changing in a traced program: one small module for each finding.

docs/findings.md explains them all, with their thresholds and how often they were right.
"""

from wavescope.analyze.findings.all_findings import (
    FINDING_IDS,
    findings,
    findings_result,
    idle_result,
)
from wavescope.analyze.findings.evidence import Evidence, evidence_of

__all__ = [
    "FINDING_IDS",
    "Evidence",
    "evidence_of",
    "findings",
    "findings_result",
    "idle_result",
]
