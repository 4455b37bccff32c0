"""Fuzzing: samples of every reader are damaged in their structure, and commands read them.

`make fuzz` runs it for some minutes, `python -m fuzz --help` says what else it can do, and
docs/fuzzing.md tells what counts as a failure. What once failed stays in `fuzz/corpus/`.
"""
