"""Damage to inputs, by their structure: `mutated` makes another input of a sample."""

from fuzz.mutators.all_mutators import mutated

__all__ = ["mutated"]
