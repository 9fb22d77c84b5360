#!/usr/bin/env bash
# ZeRO++'s quantised transfers on the cuda backend, on its stand-ins: 4 ranks that are two nodes of two train as the host backend's
# do, and move the bytes that are predicted.
# usage: quantized.sh SHARDLAB LIBSHARDLAB_CORE STAND_IN_MODULE
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
source "$(dirname "$0")/stand_in.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
sed 's/"devices_per_node": 8/"devices_per_node": 2/; s/"span": 8/"span": 2/' "$root/profiles/dgx-h200.json" >"$here/two.json"
ln -s "$root/profiles/devices" "$here/devices"

echo '{"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 2, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
      "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 100, "stage3_max_reuse_distance": 0,
                            "zero_quantized_weights": true, "zero_quantized_gradients": true},
      "shardlab": {"seq_len": 8}}' >"$here/c.json"
job=(--model "$root/tests/mpi/gpt2_narrow.json" --config "$here/c.json" --world 4)
run=(--data "$root/examples/corpus.txt" --steps 2 --quiet)
"$1" measure "${job[@]}" "${run[@]}" --backend host --cluster "$root/tests/mpi/nodes_of_two.json" --json "$here/host.json"
"$here/bin/shardlab" measure "${job[@]}" "${run[@]}" --backend cuda --cluster "$here/two.json" --json "$here/cuda.json"
python3 "$root/tests/gpu/compare.py" same "$here/host.json" "$here/cuda.json" 1e-3
"$here/bin/shardlab" predict "${job[@]}" --cluster "$here/two.json" --json "$here/predicted.json"
# one rank alone gets packed zeros from the others, and counts the same bytes
"$here/bin/shardlab" measure --model "$root/tests/mpi/gpt2_narrow.json" --config "$here/c.json" --cluster "$here/two.json" "${run[@]}" \
  --backend cuda --as-rank 3 --of-world 4 --json "$here/alone.json"
python3 "$root/tests/gpu/compare.py" rank 3 "$here/predicted.json" "$here/alone.json"
python3 - "$here/predicted.json" "$here/cuda.json" <<'PY'
import json
import sys


def moved(path):
    rows = json.load(open(path))["ranks"][0]["traffic"]
    return {(r["group"], r["op"], r["payload"], r["dtype"]): (r["calls"], r["bytes"]) for r in rows}


predicted, measured = map(moved, sys.argv[1:])
assert predicted == measured, (predicted, measured)
assert {key[0] for key in measured if key[1] == "all_to_all"} == {"node", "across"}, measured
PY
