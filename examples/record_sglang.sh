#!/usr/bin/env bash
# Record a benchmark of an SGLang server, without its start-up.
# Usage: examples/record_sglang.sh MODEL [GPUS]
set -euo pipefail
model=${1:?usage: record_sglang.sh MODEL [GPUS]}
gpus=${2:-1}
port=30000

wavescope trace --start-paused -o sglang.db \
    python3 -m sglang.launch_server --model-path "$model" --tp "$gpus" --port "$port" &
recorder=$!

until curl -sf "http://127.0.0.1:$port/health"; do
    kill -0 "$recorder" # the server has ended: so does this script
    sleep 2
done

benchmark() {
    python3 -m sglang.bench_serving --backend sglang --port "$port" --dataset-name random \
        --random-input 512 --random-output 64 --num-prompts "$1"
}

benchmark 8 # what is compiled and captured at the first request is not recorded
wavescope resume "$recorder"
benchmark 64
wavescope pause "$recorder"

# Not Ctrl-C's signal: programs that a script starts in the background ignore that one.
kill -TERM "$recorder"
wait "$recorder" || echo "the server ended with exit code $?"
wavescope phases sglang.db
wavescope report sglang.db -o sglang.html
