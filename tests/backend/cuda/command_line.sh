#!/usr/bin/env bash
# `shardlab --backend cuda` as a user starts it, on the stand-ins: one rank against the host backend in three precisions,
# two ranks that the command starts itself, one rank of a plan alone, and the comparisons of ./dev gpu on their records.
# usage: command_line.sh SHARDLAB LIBSHARDLAB_CORE STAND_IN_MODULE
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
golden=$root/tests/golden/gpt2_odd
source "$(dirname "$0")/stand_in.sh"
export SHARDLAB_CACHE=$here/cache               # where products' algorithms are kept
job=(--model "$golden/config.json" --data "$golden/tokens.bin" --seq 17 --steps 2 --train-batch 2 --micro-batch 1
  --attention flash --quiet)
table() { python3 "$root/tests/gpu/compare.py" "$@"; }
config() { # NAME PRECISION
  echo "{\"gradient_clipping\": 0.5, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, $2
        \"shardlab\": {\"shuffle\": false}}" >"$here/$1.json"
}
config fp32 ""
config bf16 '"bf16": {"enabled": true},'
config fp16 '"fp16": {"enabled": true, "loss_scale": 128},'

for run in fp32:1e-5 bf16:4e-3 fp16:1e-3; do
  name=${run%:*} bound=${run#*:}
  "$1" measure "${job[@]}" --config "$here/$name.json" --backend host --world 1 --json "$here/host.json"
  "$here/bin/shardlab" measure "${job[@]}" --config "$here/$name.json" --backend cuda --cluster h200x1 --world 1 \
    --json "$here/$name.one.json"
  table same "$here/host.json" "$here/$name.one.json" "$bound"
done
# Widths and addresses that cuBLASLt's epilogues can have: the same against the host, whose products have none; with a
# library that lacks them, the same again.
sed 's/"n_embd": 35/"n_embd": 40/' "$golden/config.json" >"$here/even.json"
job[1]=$here/even.json
for run in fp32:1e-5: bf16:4e-3: fp16:1e-3: fp32:1e-5:1; do
  IFS=: read -r name bound lacks <<<"$run"
  [ -n "$lacks" ] || "$1" measure "${job[@]}" --config "$here/$name.json" --backend host --world 1 --json "$here/$name.host.json"
  SHARDLAB_STAND_IN_NO_EPILOGUE=$lacks "$here/bin/shardlab" measure "${job[@]}" --quiet=off --config "$here/$name.json" \
    --backend cuda --cluster h200x1 --world 1 --json "$here/even.run.json" 2>"$here/said" >/dev/null
  table same "$here/$name.host.json" "$here/even.run.json" "$bound"
  grep -q 'cuBLAS has no gemm+gelu with a bias' "$here/said" && said=1 || said=
  [ "$said" = "$lacks" ]
done
job[1]=$golden/config.json
# a library without the bias in its products
SHARDLAB_STAND_IN_NO_BIAS=1 "$here/bin/shardlab" measure "${job[@]}" --config "$here/fp32.json" --backend cuda \
  --cluster h200x1 --world 1 --json "$here/apart.json"
table same "$here/fp32.one.json" "$here/apart.json" 1e-5
for time in 1 2; do # the second time no algorithm is chosen any more
  "$here/bin/shardlab" measure "${job[@]}" --config "$here/bf16.json" --backend cuda --cluster dgx-h200 --world 2 \
    --zero-stage 2 --json "$here/two.json"
  table same "$here/bf16.one.json" "$here/two.json" 4e-3
  sort "$here"/cache/products-*.txt >"$here/chosen.$time"
done
[ "$(wc -l <"$here/chosen.1")" -ge 10 ]
cmp "$here/chosen.1" "$here/chosen.2"
[ -z "$(uniq -d "$here/chosen.1")" ]
grep -q '"functional": true' "$here/two.json"
SHARDLAB_STAND_IN_APART=1 "$here/bin/shardlab" measure "${job[@]}" --config "$here/bf16.json" --backend cuda \
  --cluster dgx-h200 --world 2 --zero-stage 2 --json "$here/devices.json"
grep -q '"functional": false' "$here/devices.json"

# the first step's gradients, of two ranks, against PyTorch's in double precision
"$here/bin/shardlab" measure --model "$golden/config.json" --config "$golden/ds_adamw.json" --init "$golden/init.safetensors" \
  --data "$golden/tokens.bin" --backend cuda --cluster dgx-h200 --world 2 --zero-stage 2 --steps 1 --quiet \
  --json "$here/first.json" --save-grads "$here/first.safetensors"
table grads "$golden/grads_f64.safetensors" "$here/first.safetensors" 1e-5

plan=(--model "$golden/config.json" --config "$here/fp32.json" --cluster dgx-h200 --seq 17 --train-batch 6 --micro-batch 1
  --pp 3 --zero-stage 1 --quiet)
"$here/bin/shardlab" predict "${plan[@]}" --world 6 --json "$here/plan.json"
"$here/bin/shardlab" measure "${plan[@]}" --data "$golden/tokens.bin" --backend cuda --as-rank 3 --of-world 6 --steps 2 \
  --json "$here/alone.json" --trace "$here/alone.trace.json"
table rank 3 "$here/plan.json" "$here/alone.json"
grep -q '"as_rank": 3' "$here/alone.json"
python3 "$root/tests/core/record/keys.py" records "$root" "$here/alone.json" "$here/first.json" >/dev/null
"$here/bin/shardlab" compare "$here/plan.json" "$here/alone.json" >"$here/compared"
grep -q '^prediction only' "$here/compared"

# Dropout in backward from masks that a plan keeps, and drawn anew: one and the same, and the host's.
sed 's/"attn_pdrop": 0.0/"attn_pdrop": 0.2/; s/"resid_pdrop": 0.0/"resid_pdrop": 0.3/; s/"embd_pdrop": 0.0/"embd_pdrop": 0.1/' \
  "$golden/config.json" >"$here/dropout.json"
job[1]=$here/dropout.json
sed 's/"shuffle": false/"store_dropout_masks": true/' "$here/fp32.json" >"$here/stored.json"
sed 's/"shuffle": false/"store_dropout_masks": false/' "$here/fp32.json" >"$here/drawn.json"
for name in stored drawn; do
  "$here/bin/shardlab" measure "${job[@]}" --attention materialised --config "$here/$name.json" --backend cuda \
    --cluster h200x1 --world 1 --json "$here/$name.masks.json"
done
"$1" measure "${job[@]}" --attention materialised --config "$here/stored.json" --backend host --world 1 \
  --json "$here/host.json"
table same "$here/drawn.masks.json" "$here/stored.masks.json" 0
table same "$here/host.json" "$here/stored.masks.json" 1e-5

# States and parameters in host memory, and on NVMe: the host's own.
job[1]=$golden/config.json
offload() { # NAME PRECISION TARGET
  echo "{\"gradient_clipping\": 0.5, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, $2 \"shardlab\": {\"shuffle\": false},
        \"zero_optimization\": {\"stage\": 3, \"sub_group_size\": 5000, \"offload_optimizer\": {$3}, \"offload_param\": {$3}}}" >"$here/$1.json"
}
offload cpu '"bf16": {"enabled": true},' '"device": "cpu"'
offload nvme "" "\"device\": \"nvme\", \"nvme_path\": \"$here\""
for run in cpu:4e-3 nvme:1e-5; do
  name=${run%:*} bound=${run#*:}
  "$1" measure "${job[@]}" --config "$here/$name.json" --backend host --world 1 --json "$here/host.json"
  "$here/bin/shardlab" measure "${job[@]}" --config "$here/$name.json" --backend cuda --cluster dgx-h200 --world 2 \
    --json "$here/$name.offloaded.json"
  table same "$here/host.json" "$here/$name.offloaded.json" "$bound"
done

# A checkpoint of one backend goes on on the other, under another plan: the losses of the host's own uninterrupted run.
job[7]=5 # steps
job[1]=$golden/config.json
resumed() { # RECORD FIRST_STEP
  python3 - "$here/whole.json" "$1" "$2" <<'PYTHON'
import json, sys
whole, rest, first = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), int(sys.argv[3])
assert rest["first_step"] == first and len(rest["losses"]) == 5 - first, rest["losses"]
for want, got in zip(whole["losses"][first:], rest["losses"]):
    assert abs(got - want) <= 1e-5 * want, (whole["losses"], rest["losses"])
PYTHON
}
"$1" measure "${job[@]}" --config "$here/fp32.json" --backend host --world 1 --checkpoint "$here/host" --save-every 2 --json "$here/whole.json"
"$here/bin/shardlab" measure "${job[@]}" --config "$here/nvme.json" --backend cuda --cluster dgx-h200 --world 2 \
  --resume "$here/host/step-000002" --checkpoint "$here/cuda" --save-every 1 --keep 3 --json "$here/rest.json"
resumed "$here/rest.json" 2
grep -q '"launches": "op by op: the CPU or NVMe has ops between kernels"' "$here/rest.json"
[ "$(ls "$here/cuda" | tr '\n' ' ')" = "latest step-000003 step-000004 step-000005 " ]
"$1" measure "${job[@]}" --config "$here/fp32.json" --backend host --world 2 --tp 1 --pp 2 --resume "$here/cuda/step-000003" --json "$here/back.json"
resumed "$here/back.json" 3
