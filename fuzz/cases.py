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

_SHARE_OF_REAL_SAMPLES = 0.3


@dataclass(frozen=True)
class ReaderSamples:
    """The samples of one reader: our own, which are small, and real ones where there are any."""

    own: Sequence[Input]
    real: Sequence[Input] = ()

    def choice(self, random: Random) -> Input:
        """One of them."""
        is_real = random.random() < _SHARE_OF_REAL_SAMPLES and self.real
        return random.choice(self.real if is_real else self.own)


Samples = Mapping[str, ReaderSamples]


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
        samples[name] = ReaderSamples(own, more.get(name, []))
    return samples


def case_of(samples: Samples, seed: int, reader: str, number: int) -> Case:
    """The case of that number; the same for the same seed and samples."""
    random = Random(f"{seed} {reader} {number}")
    chosen = BY_NAME[reader]
    sample = samples[reader].choice(random)
    command = random.choice(chosen.commands)
    return Case(reader, number, _changed(random, chosen, sample), command)


def _changed(random: Random, reader: Reader, sample: Input) -> Input:
    """`sample` after changes of what the reader reads."""
    kept = {
        name: entry
        for name, entry in sample.files.items()
        if {name, name.partition("/")[0]} & set(reader.unchanged)
    }
    others = {name: entry for name, entry in sample.files.items() if name not in kept}
    made = mutated(random, replace(sample, files=others))
    return replace(made, files={**made.files, **kept})
