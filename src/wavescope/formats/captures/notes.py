"""What readers of a capture had to skip or repair."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Notes:
    """Sentences for the user; `missing` ones make every result partial."""

    repaired: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def repair(self, sentence: str) -> None:
        """Note a repair once, however often it is met."""
        if sentence not in self.repaired:
            self.repaired.append(sentence)
