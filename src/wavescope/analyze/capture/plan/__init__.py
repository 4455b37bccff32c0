"""The optimization plan: what to change in a traced kernel, in which order, and for how much."""
