"""How well kernels are classified by name, on names that were labelled by hand.

    .venv/bin/python benchmarks/names/score.py [--mistakes]

`labels/*.tsv` hold a category, where the name was seen, and the name. A third of the names, chosen by
a hash of the name, is held out: no rule was mended because of them, and `--mistakes` lists only those
of the other two thirds. `later.tsv` holds names that were gathered when the rules stood: 74 of the
first 94 and, after mending, 47 of the next 55 were told right, and 5 and 2 were told wrong instead of
not at all. Their mistakes were looked at, so that none of them is held out.
"""

from __future__ import annotations

import argparse
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from wavescope.names.kernel_names import CATEGORIES, meaning_of

LABELS = Path(__file__).parent / "labels"
ALL_LOOKED_AT = "later"


class Label(NamedTuple):
    """What a person says a kernel is."""

    file: str
    category: str
    source: str
    name: str

    @property
    def is_held_out(self) -> bool:
        """Whether the name belongs to the third that rules are not written by."""
        return self.file != ALL_LOOKED_AT and zlib.crc32(self.name.encode()) % 3 == 0


class Score(NamedTuple):
    """Names of one category: how many there are, were said to be, and were rightly said to be."""

    labelled: int
    told: int
    right: int

    @property
    def precision(self) -> float:
        """The share of what was said that is right; 1 where nothing was said."""
        return self.right / self.told if self.told else 1.0

    @property
    def recall(self) -> float:
        """The share of what there is that was found; 1 where there is nothing."""
        return self.right / self.labelled if self.labelled else 1.0


def read_labels(folder: Path = LABELS) -> list[Label]:
    """All labelled names, in the order of the files."""
    return [
        Label(path.stem, *line.split("\t"))
        for path in sorted(folder.glob("*.tsv"))
        for line in path.read_text(encoding="utf-8").splitlines()[1:]
    ]


def scores(labels: Iterable[Label]) -> dict[str, Score]:
    """The score of each category, and of all names together as `all`."""
    labelled: Counter[str] = Counter()
    told: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for label in labels:
        found = meaning_of(label.name).category
        for key in ("all", label.category):
            labelled[key] += 1
            right[key] += found == label.category
        told[found] += 1
        told["all"] += 1
    return {
        key: Score(labelled[key], told[key], right[key])
        for key in (*CATEGORIES, "all")
        if labelled[key] or told[key]
    }


def main() -> None:
    """Print precision and recall of each category, tuned and held out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mistakes", action="store_true", help="list the tuned names told wrong")
    wanted = parser.parse_args()
    labels = read_labels()
    for title, held_out in (("tuned", False), ("held out", True)):
        part = [label for label in labels if label.is_held_out is held_out]
        print(f"{title}: {len(part)} names")
        print(f"  {'category':15} {'names':>6} {'precision':>10} {'recall':>8}")
        for category, score in scores(part).items():
            print(f"  {category:15} {score.labelled:6} {score.precision:10.3f} {score.recall:8.3f}")
    if wanted.mistakes:
        for label in labels:
            found = meaning_of(label.name).category
            if not label.is_held_out and found != label.category:
                print(f"{label.category} told as {found}: {label.name[:160]}")


if __name__ == "__main__":
    main()
