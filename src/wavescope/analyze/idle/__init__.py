"""Why GPUs idle: every gap divided over what the host did during it, and what is behind each part.

Its modules are its doors. What is large is made once for a trace: `trace.derived(gap_parts)`.
docs/findings.md explains the parts.
"""
