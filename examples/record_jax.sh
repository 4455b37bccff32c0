#!/usr/bin/env bash
# Record ten seconds of a JAX program, after its first compilation.
# Usage: examples/record_jax.sh SECONDS_TO_SKIP PROGRAM.py [ARGUMENTS]
set -euo pipefail
skipped=${1:?usage: record_jax.sh SECONDS_TO_SKIP PROGRAM.py [ARGUMENTS]}
shift

wavescope trace --delay "$skipped" --duration 10 -o jax.db python3 "$@"
wavescope summary jax.db
