#!/usr/bin/env bash
# Products in fp8 on the cuda backend, on its stand-ins: a GPT-2 and a Llama train as on the host, on one rank and on several, with
# the memory and the traffic that are predicted, and go on from a checkpoint to the bit; a GPU before sm_89 and shapes that cuBLASLt does not multiply are refused by name.
# usage: fp8.sh SHARDLAB LIBSHARDLAB_CORE STAND_IN_MODULE
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
source "$(dirname "$0")/stand_in.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

config() { # NAME MORE
  echo "{\"train_batch_size\": 8, \"gradient_accumulation_steps\": 2, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\",
        \"params\": {\"lr\": 1e-3}}, \"shardlab\": {\"seq_len\": 16, \"fp8\": true, \"shuffle\": false$2}}" >"$here/$1.json"
}
config plain ''
config tp ', "tp": 2, "sequence_parallel": true'
config pp ', "pp": 2, "schedule": "zb-h1", "recompute": "full"'
config recent ', "fp8_format": "e4m3", "fp8_margin": 1, "fp8_amax_compute_algo": "most_recent", "fp8_amax_history_len": 5'
echo '{"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 32, "vocab_size": 256, "n_positions": 16, "resid_pdrop": 0,
      "embd_pdrop": 0, "attn_pdrop": 0}' >"$here/gpt2.json"
echo '{"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64,
      "intermediate_size": 96, "vocab_size": 256, "max_position_embeddings": 16}' >"$here/llama.json"
run=(--data "$root/examples/corpus.txt" --steps 3 --quiet)
for model in gpt2 llama; do
  for way in plain:1 recent:1 tp:2 pp:2; do
    IFS=: read -r name world <<<"$way"
    job=(--model "$here/$model.json" --config "$here/$name.json" --world "$world")
    "$1" measure "${job[@]}" "${run[@]}" --backend host --json "$here/host.json"
    "$here/bin/shardlab" measure "${job[@]}" "${run[@]}" --backend cuda --cluster dgx-h200 --json "$here/cuda.json"
    python3 "$root/tests/gpu/compare.py" same "$here/host.json" "$here/cuda.json" 8e-3
    "$here/bin/shardlab" predict "${job[@]}" --cluster dgx-h200 --json "$here/predicted.json" --quiet
    python3 - "$here/predicted.json" "$here/cuda.json" <<'PY'
import json
import sys

predicted, measured = (json.load(open(path)) for path in sys.argv[1:])
moved = [[(t["group"], t["op"], t["calls"], t["bytes"]) for t in r["traffic"]] for r in (predicted, measured)]
assert moved[0] == moved[1], moved
arena = [r["memory"]["device"]["by_category"] for r in (predicted, measured)]
assert arena[0] == arena[1], arena
PY
  done
done

job=(--model "$here/gpt2.json" --config "$here/tp.json" --world 2 "${run[@]}" --backend cuda --cluster dgx-h200) # it goes on to the bit
"$here/bin/shardlab" measure "${job[@]}" --checkpoint "$here/saved" --save-every 1 --json "$here/whole.json"
"$here/bin/shardlab" measure "${job[@]}" --resume "$here/saved/step-000001" --json "$here/rest.json"
python3 - "$here/whole.json" "$here/rest.json" <<'PY'
import json
import sys

whole, rest = (json.load(open(path))["losses"] for path in sys.argv[1:])
assert whole[1:] == rest and len(rest) == 2, (whole, rest)
PY

refused() { # WORDS COMMAND...
  local words=$1
  shift
  if "$@" 2>"$here/said"; then echo "fp8.sh: not refused: $words" >&2 && exit 1; fi
  grep -q "$words" "$here/said" || { cat "$here/said" >&2 && exit 1; }
}
job=(--model "$here/gpt2.json" --config "$here/plain.json" --world 1 --backend cuda --cluster h200x1 "${run[@]}")
SHARDLAB_STAND_IN_OLD=1 refused 'this GPU has compute capability 8.0; expected 8.9' "$here/bin/shardlab" measure "${job[@]}"
sed -i 's/"n_embd": 32/"n_embd": 40/' "$here/gpt2.json"
refused 'a product of .* expected multiples of 16' "$here/bin/shardlab" measure "${job[@]}"
