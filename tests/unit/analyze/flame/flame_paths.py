"""Trees as dictionaries, for tests."""

from __future__ import annotations

from wavescope.analyze.flame import FlameTree

Path = tuple[str, ...]


def by_path(tree: FlameTree) -> dict[Path, tuple[int, int, int]]:
    """Total, self and count of every path."""
    paths: list[Path] = [()]
    for node in range(1, len(tree)):
        paths.append((*paths[tree.parent[node]], tree.text(node)))
    assert len(set(paths)) == len(paths)
    return dict(zip(paths, zip(tree.total_ns, tree.self_ns, tree.count, strict=True), strict=True))
