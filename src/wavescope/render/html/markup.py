"""HTML as text that knows what it is: everything but `Html` is escaped when it is put in."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from wavescope.render.cells.escape import shortened, visible

LONGEST_TEXT = 1_000
"""Characters of a name that a page keeps; a hostile trace has names of any length."""

_VOID = frozenset({"br", "input", "link", "meta"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | None | Iterable["Child"]
Attribute = str | int | float | bool | None


def element(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """`element("td", text, class_="name")`: texts are escaped, a true attribute stands alone."""
    opening = f"<{name}{''.join(_attribute(*item) for item in attributes.items())}>"
    return Html(opening if name in _VOID else f"{opening}{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Html:
    """The children one after another; whatever is not markup is escaped."""
    return Html("".join(_child(child) for child in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    return escape(child) if isinstance(child, str) else joined(child)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    spelled = name.rstrip("_").replace("_", "-")
    return f" {spelled}" if value is True else f' {spelled}="{escape(str(value))}"'


def bounded(text: str, most: int = LONGEST_TEXT) -> str:
    """A name as a page shows it: nothing in it hides or reverses text, and it is not endless."""
    if len(text) > 2 * most:
        text = f"{text[:most]}…{text[-most // 3 :]}"
    return shortened(visible(text), most)
