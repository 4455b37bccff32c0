"""What is worth changing in a traced program: one small module for each finding.

docs/findings.md explains them all, with their thresholds and how often they were right.
"""

from wavescope.analyze.findings.all_findings import (
    FINDING_IDS,
    findings,
    findings_result,
    idle_result,
)

__all__ = ["FINDING_IDS", "findings", "findings_result", "idle_result"]
