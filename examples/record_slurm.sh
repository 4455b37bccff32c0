#!/usr/bin/env bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
# Record each rank of a job on several hosts in a trace of its own, then put them together.
# Usage: sbatch examples/record_slurm.sh PROGRAM [ARGUMENTS]
set -euo pipefail
: "${1:?usage: sbatch record_slurm.sh PROGRAM [ARGUMENTS]}"

srun wavescope trace -q -o "rank_%rank%.db" "$@"
wavescope merge rank_*.db -o job.db
wavescope findings job.db
