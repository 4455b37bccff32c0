"""Single figures that a page begins with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.render.html.markup import Html, bounded, element


class Card(NamedTuple):
    """A figure, what it is, and a remark."""

    title: str
    value: str
    remark: str = ""
    tone: str = ""
    """`good`, `warning` or `problem` where the figure is one."""


def cards_html(cards: Sequence[Card]) -> Html:
    """The cards in one row, as a description list."""
    items = [
        element(
            "div",
            element("dt", card.title),
            element("dd", bounded(card.value, 60), class_="value"),
            element("dd", bounded(card.remark, 120), class_="remark") if card.remark else None,
            class_=f"card {card.tone}".strip(),
        )
        for card in cards
    ]
    return element("dl", *items, class_="cards")
