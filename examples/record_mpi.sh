#!/usr/bin/env bash
# Record all ranks of an MPI job on this host in one trace.
# Usage: examples/record_mpi.sh RANKS PROGRAM [ARGUMENTS]
set -euo pipefail
ranks=${1:?usage: record_mpi.sh RANKS PROGRAM [ARGUMENTS]}
shift

wavescope trace -o job.db mpirun -n "$ranks" "$@"
wavescope findings job.db
