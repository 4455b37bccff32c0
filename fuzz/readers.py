"""Every reader that is fuzzed: its samples, and the commands that read what is made of them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

_TRACE = """
info {in} --json
info {in}
info {in} --markers --kernels
summary {in} --json
summary {in}
summary {in} --per gpu --format csv --table kernels
summary {in} --by operator
summary {in} --start 10% --end 90% --gpu 0
findings {in} --json
phases {in}
phases {in} --without-markers --json
steps {in} --json
steps {in} --without-markers
work {in}
flame {in}
flame {in} --of host -o {out}/host.folded
~ report {in} -o {out}/page.html
~ convert {in} -o {out}/copy.db
~ convert {in} -o {out}/copy.pftrace
~ convert {in} -o {out}/copy.json
~ convert {in} -o {out}/copy.json.gz
~ convert {in} -o {out}/copy.rpd
~ convert {in} -o {out}/copy.csv
~ convert {in} -o {out}/copy_results.json
~ convert {in} -f csv-folder -o {out}/tables
~ trim {in} --start 25% --end 50% -o {out}/part.db
~ merge {in} {in} -o {out}/both.db
~ compare {in} {in}
~ compare {in} {in} --json
traffic {in}
query {in} 'SELECT count(*), max(end) FROM rocpd_op'
hotspots {in}
ranks {in} {in} --workers 1 --json
@rank {in}
"""
_READ = "@read {in}\n" * 20
"""Quicker than any command, so that it is run as often as all of them."""
_SQLITE = """
query {in} 'SELECT * FROM top' --json
query {in} 'SELECT * FROM busy'
"""
_CAPTURE = """
info {in} --json
hotspots {in}
hotspots {in} --timeline --detail --json
hotspots {in} --mode src --format markdown
plan {in}
plan {in} --json
occupancy {in}
~ report {in} -o {out}/page.html
~ compare {in} {in}
~ compare {in} {in} --json
summary {in}
"""
_COUNTERS = """
info {in}
info {in} --json
counters {in}
counters {in} --json
counters {in} --list-stats
counters {in} --format csv --all
~ counters {in} -o {out}/page.html
~ counters {in} {in}
~ counters {in} --memory-chart {out}/chart.svg
roofline {in}
roofline {in} -o {out}/roofline.json
traffic {in} --json
~ compare {in} {in}
~ report {in} -o {out}/page.html
"""
_COUNTER_FILES = """
traffic {in}
traffic {in} --json
traffic {in} --ideal-gb 1 --dispatches 1-3
info {in}
summary {in}
counters {in}
roofline {in}
plan {capture} --counters {in}
hotspots {capture} --counters {in} --json
"""
_RULES = """
summary {in}/trace.json --rules {in}/rules.toml
summary {in}/trace.json --by rules --rules {in}/rules.toml --json
phases {in}/trace.json --rules {in}/rules.toml
compare {in}/trace.json {in}/trace.json --rules {in}/rules.toml
"""
_PHASE_RULES = """
phases {in}/trace.json --phase-rules {in}/rules.toml
phases {in}/trace.json --without-markers --phase-rules {in}/rules.toml --json
"""
_METRICS = """
metrics --metrics {in}/rules.toml own
metrics --metrics {in}/rules.toml --json
counters {in} --metrics {in}/rules.toml
counters {in} --metrics {in}/rules.toml --json
roofline {in} --metrics {in}/rules.toml
"""
_RANKS = """
ranks {in} --workers 1
ranks {in} --workers 1 --json
ranks {in} --workers 1 --fail --format csv
ranks {in} --workers 1 --rank-pattern 'r\\w+_(?P<rank>\\d+)' --step '.*'
ranks {in} --workers 1 --base {in} --json
~ ranks {in} --workers 1 -o {out}/page.html
"""
_SESSION = """
recover {in} -o {out}/trace.db
recover {in} -o {out}/trace.db --json
"""
_OFTEN = 4


@dataclass(frozen=True)
class Reader:
    """One reader; `commands` are command lines, `unchanged` files and folders that mutators leave alone."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    unchanged: tuple[str, ...] = ()


def _reader(name: str, *commands: str, unchanged: tuple[str, ...] = ()) -> Reader:
    """A reader by its command lines; those that begin with ~ cost more, and are run less often."""
    lines = [line for text in commands for line in text.splitlines() if line]
    often = [line for line in lines if not line.startswith("~")]
    all_lines = [*often * _OFTEN, *(line.removeprefix("~") for line in lines if line not in often)]
    return Reader(name, tuple(tuple(shlex.split(line)) for line in all_lines), unchanged)


READERS = (
    _reader("wavescope", _READ, _TRACE, _SQLITE),
    _reader("rocm-trace-lite", _READ, _TRACE, _SQLITE),
    _reader("rocmProfileData", _READ, _TRACE, _SQLITE),
    _reader("rocpd", _READ, _TRACE),
    _reader("wavescope session", _READ, _TRACE, _SESSION),
    _reader("rocprofv3 CSV", _READ, _TRACE),
    _reader("rocprof timestamps", _READ, _TRACE),
    _reader("rocprofv3 JSON", _READ, _TRACE),
    _reader("xplane", _READ, _TRACE),
    _reader("Perfetto", _READ, _TRACE),
    _reader("Chrome JSON", _READ, _TRACE),
    _reader("captures", "@capture {in}\n" * 8, _CAPTURE),
    _reader("capture archives", "@capture {in}\n" * 8, _CAPTURE),
    _reader("counter folders", "@workload {in}\n" * 8, _COUNTERS),
    _reader("counter files", _COUNTER_FILES),
    _reader("rules", _RULES, unchanged=("trace.json",)),
    _reader("phase rules", _PHASE_RULES, unchanged=("trace.json",)),
    _reader("own metrics", _METRICS, unchanged=("pmc_perf.csv", "sysinfo.csv")),
    _reader(
        "stored results",
        "report {in}/trace.json --with {in}/result.json -o {out}/page.html",
        unchanged=("trace.json",),
    ),
    _reader("kernel names", "@names {in}"),
    _reader("rank digests", "@digests {in}"),
    _reader("ranks of a job", _RANKS),
    _reader("viewer", "@viewer {in}", unchanged=("trace.db",)),
    _reader("viewer's connections", "@connection {in}", unchanged=("trace.db",)),
    _reader("statements", "@query {in}", unchanged=("trace.db",)),
    _reader("command lines", "@words {in}", unchanged=("trace.db", "capture", "workload")),
)
BY_NAME = {reader.name: reader for reader in READERS}
