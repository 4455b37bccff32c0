"""Cases: which sample is changed how and read by which command, all of it told by three values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from fuzz.inputs import Input, read_input
from fuzz.mutators import mutated
from fuzz.readers import BY_NAME, Reader
from fuzz.samples import SAMPLE_MAKERS
from fuzz.shared_samples import shared_samples

_FIRST_SAMPLES = (2, 2, 100)
"""Own samples come first: they are small, and so read more often than real ones."""
Samples = Mapping[str, Sequence[Input]]


@dataclass(frozen=True)
class Case:
    """A command line with `{in}` and `{out}`, and the input that it gets."""

    reader: str
    number: int
    made: Input
    command: tuple[str, ...]


def make_samples(folder: Path, shared_data: Path | None = None) -> Samples:
    """The samples of all readers; real files are among them where there are any."""
    more = shared_samples(shared_data) if shared_data else {}
    samples = {}
    for name, makers in SAMPLE_MAKERS.items():
        own = []
        for number, make in enumerate(makers):
            place = folder / f"{name}-{number}".replace(" ", "_")
            place.mkdir(parents=True)
            own.append(read_input(make(place)))
        samples[name] = [*own, *more.get(name, [])]
    return samples


def case_of(samples: Samples, seed: int, reader: str, number: int) -> Case:
    """The case of that number; the same for the same seed and samples."""
    random = Random(f"{seed} {reader} {number}")
    chosen = BY_NAME[reader]
    sample = random.choice(samples[reader][: random.choice(_FIRST_SAMPLES)])
    command = random.choice(chosen.commands)
    return Case(reader, number, _changed(random, chosen, sample), command)


def _changed(random: Random, reader: Reader, sample: Input) -> Input:
    """`sample` after changes of what the reader reads."""
    kept = {name: sample.files[name] for name in reader.unchanged if name in sample.files}
    others = {name: entry for name, entry in sample.files.items() if name not in kept}
    made = mutated(random, replace(sample, files=others))
    return replace(made, files={**made.files, **kept})
