"""Traces beside one another: what changed, which parts account for it, and whether it is real."""
