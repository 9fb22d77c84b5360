#!/usr/bin/env bash
# Predicts and then measures five models on one GPU, three micro-batches each, with and without recomputation; see
# README.md. usage: run.sh [FOLDER]; PROFILE: a calibrated cluster.json; STEPS (12); MODELS: others than
# the five; LIMIT_S (60): of one run; BUDGET_S: what is not measured by then is left out; MEASURED: a folder with records of
# an earlier call, which are taken instead of measuring, to see what another profile predicts of them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/build/release/bin}
out=${1:-$root/out/validate_gpu}
profile=${PROFILE:-h200x1}
steps=${STEPS:-12}
limit=${LIMIT_S:-60}
end=$((SECONDS + ${BUDGET_S:-100000}))
mkdir -p "$out"
[ -z "${MEASURED:-}" ] || cp "$MEASURED"/*.measured.json "$out"
timed() { # COMMAND...: within the limit of a run and what is left of all
  local left=$((end - SECONDS))
  timeout $((left < 1 ? 1 : left < limit ? left : limit)) "$@"
}

cat >"$out/config.json" <<'JSON'
{"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0, "bf16": {"enabled": true},
 "data_types": {"grad_accum_dtype": "fp32"}, "zero_optimization": {"stage": 1},
 "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}}
JSON
cat >"$out/llama-1b.json" <<'JSON'
{"model_type": "llama", "vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
 "num_attention_heads": 32, "num_key_value_heads": 4, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
 "rope_theta": 10000.0}
JSON

models=${MODELS:-gpt2 gpt2-medium gpt2-large gpt2-xl llama-1b}
names=()
flags_of() { # NAME: model-micro-recompute
  local rest=${1%-*} recompute=${1##*-}
  local micro=${rest##*-} model=${rest%-*}
  [ "$model" != llama-1b ] || model=$out/llama-1b.json
  flags=(--model "$model" --config "$out/config.json" --cluster "$profile" --seq 1024 --micro-batch "$micro"
    --attention flash --recompute "$recompute" --quiet)
}
for model in $models; do
  for micro in 1 4 8; do
    for recompute in none full; do names+=("$model-$micro-$recompute"); done
  done
done

for name in "${names[@]}"; do
  flags_of "$name"
  "$bin/shardlab" predict "${flags[@]}" --json "$out/$name.predicted.json"
done
for name in "${names[@]}"; do
  [ -z "${MEASURED:-}" ] || continue
  [ $SECONDS -lt $end ] || { echo "$name: no time left" >&2; continue; }
  flags_of "$name"
  timed "$bin/shardlab" measure "${flags[@]}" --backend cuda --data "$root/examples/corpus.txt" --steps "$steps" \
    --json "$out/$name.measured.json" || echo "$name: not measured" >&2
done
if [ -z "${MEASURED:-}" ]; then
  flags_of gpt2-4-none
  "$bin/shardlab" predict "${flags[@]}" --trace "$out/gpt2.predicted.trace.json"
  timed "$bin/shardlab" measure "${flags[@]}" --backend cuda --data "$root/examples/corpus.txt" --steps 3 \
    --trace "$out/gpt2.measured.trace.json" || echo "gpt2: no measured trace" >&2
fi
for name in "${names[@]}"; do
  [ ! -s "$out/$name.measured.json" ] ||
    "$bin/shardlab" compare "$out/$name.predicted.json" "$out/$name.measured.json" >"$out/$name.compare.txt" || true
done
python3 "$here/table.py" "$out" | tee "$out/table.md"
if command -v gnuplot >/dev/null; then "$root/experiments/draw.sh" "$here/scatter.gp" "$out"; fi
