"""Chooses panels, tables and metrics by id, alias or key."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from wavescope.analyze.counters.catalogue import Catalogue
from wavescope.errors import UsageError


def chosen_blocks(catalogue: Catalogue, texts: Sequence[str]) -> frozenset[str] | None:
    """The ids that `texts` mean; None for all when there are none.

    An id is that of a panel (2), a table (2.1) or a metric (2.1.4); a panel's alias (sol) and a
    metric's key (l2_hit_rate, wherever it is shown) are meant too.
    """
    if not texts:
        return None
    known = _known(catalogue)
    chosen: set[str] = set()
    for text in texts:
        ids = known.get(text) or known.get(text.lower())
        if ids is None:
            ids = _channel_id(catalogue, text)
        if ids is None:
            near = difflib.get_close_matches(text, list(known), 4, 0.5)
            raise UsageError(
                f"there is no panel, table or metric '{text}' on {catalogue.chip}",
                hint=(f"did you mean {', '.join(near)}? " if near else "")
                + f"`wavescope metrics --arch {catalogue.chip}` lists them",
            )
        chosen |= ids
    return frozenset(chosen)


def _known(catalogue: Catalogue) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for panel in catalogue.all_panels:
        known[str(panel.id)] = known[panel.alias] = {str(panel.id)}
        for table in panel.tables:
            known[table.id] = {table.id}
            for at, row in enumerate(table.rows):
                if not table.is_per_channel:
                    known[f"{table.id}.{at}"] = {f"{table.id}.{at}"}
                place = table.id if table.is_per_channel else f"{table.id}.{at}"
                known.setdefault(row.metric, set()).add(place)
    for id_ in ("0.1", "0.2", "0.4", "1.1", "4.1", "4.2", "21.1"):
        known[id_] = {id_}
    return known


def _channel_id(catalogue: Catalogue, text: str) -> set[str] | None:
    """A row of a table of channels: 18.2.17."""
    table_id, dot, row = text.rpartition(".")
    tables = [t for panel in catalogue.panels for t in panel.tables if t.is_per_channel]
    if dot and row.isdecimal() and any(table.id == table_id for table in tables):
        return {f"{table_id}.{int(row)}"}
    return None


def wants(chosen: frozenset[str] | None, table_id: str) -> bool:
    """Whether a table that is no table of metrics is among what was chosen."""
    return chosen is None or table_id in chosen or table_id.partition(".")[0] in chosen
