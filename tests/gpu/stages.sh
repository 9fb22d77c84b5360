#!/usr/bin/env bash
# What each stage of ./dev gpu does (parts.py says which, stage.py runs them): stages.sh FUNCTION ARGUMENTS... in a process of its
# own. Its exit status is the verdict, 77 skips, and the last line it prints stands in the table. What it is given: root, of the
# tree or bundle; bin; all, the part's folder; out, its own folder in it; stage, its name; limit, its seconds; gpu, 1 where the
# cuda backend can be used, else absent says why; card and node, the presets of this GPU and of a node of such; before, the
# folder of the same stage that failed.
set -uo pipefail
card=${card:-h200x1} node=${node:-dgx-h200}

compare() { python3 "$root/tests/gpu/compare.py" "$@"; }

needs_gpu() {
  [ "${gpu:-0}" = 1 ] && return
  echo "${absent:-no GPU can be used}"
  return 77
}

config() { # NAME STAGE MORE: a ds_config.json with AdamW
  cat >"$out/$1.config.json" <<JSON
{"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0, "zero_optimization": {"stage": $2},
 "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}, "shardlab": {"shuffle": false}$3}
JSON
}

gpt2() { # NAME LAYERS WIDTH HEADS DROPOUT: a model's config.json
  cat >"$out/$1.model.json" <<JSON
{"model_type": "gpt2", "n_layer": $2, "n_embd": $3, "n_head": $4, "embd_pdrop": $5, "attn_pdrop": $5, "resid_pdrop": $5}
JSON
}

run() { # NAME FLAGS...: measure on the GPU; --cluster, --model ... are the caller's
  local name=$1
  shift
  needs_gpu || return
  "$bin/shardlab" measure "$@" --backend cuda --json "$out/$name.measured.json" >/dev/null
}

golden() { # FOLDER RUN FLAGS...: from PyTorch's initial weights, on its data
  local folder=$root/tests/golden/$1 data
  data=$folder/tokens.bin
  [ -e "$data" ] || data=random:80
  run "golden-$1-$2" --model "$folder/config.json" --config "$folder/ds_$2.json" --init "$folder/init.safetensors" \
    --data "$data" --cluster "$card" "${@:3}"
}

machine() { # what the numbers of the other stages were made on
  local facts=$out/facts.txt device name
  {
    uname -rsm && nproc && free -m && ulimit -a && df -h / /tmp /dev/shm "$out"
    for device in /sys/class/net/*; do echo "network ${device##*/}: $(cat "$device/operstate" "$device/mtu" | paste -sd' ')"; done
    ls -l /dev/nvidia* /dev/infiniband
    ldd "$root"/lib/*.so "$bin"/shardlab "$root"/build/release/lib/libshardlab_cuda.so
    nvidia-smi
    nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE,ECC
    nvidia-smi topo -m
    for name in nvcc compute-sanitizer ncu nsys mpirun gnuplot python3; do command -v "$name" || echo "no $name"; done
    "$bin/shardlab" backends
  } >"$facts" 2>&1
  cat "$facts"
  needs_gpu || return
  nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used,clocks.sm,clocks.max.sm --format=csv,noheader ||
    echo "nvidia-smi does not answer; $(wc -l <"$facts") lines of facts"
}

goldens() { # PyTorch's own numbers in double precision: ten steps' losses and gradient norms, the first step's gradients
  local model run
  needs_gpu || return
  for model in gpt2_odd llama_odd mlp; do
    for run in adamw_clip sgd; do
      golden $model $run --steps 10 &&
        compare golden "$root/tests/golden/$model" $run "$out/golden-$model-$run.measured.json" || return
    done
    golden $model adamw --steps 1 --save-grads "$out/$model.safetensors" &&
      compare grads "$root/tests/golden/$model/grads_f64.safetensors" "$out/$model.safetensors" 1e-5 || return
    rm "$out/$model.safetensors"
  done
}

# Losses, gradient norms and the last gradients of the host backend, 20 steps: a bundle brings them, a tree can make them.
host_equal() {
  local reference=$root/reference
  local job=(--model gpt2-tiny --config "$root/examples/ds_zero0.json" --cluster "$card" --data "$corpus" --steps 20)
  needs_gpu || return
  if [ ! -d "$reference" ]; then
    "$bin/shardlab" backends | sed -n 's/^host backend *absent *//p' | grep . && return 77
    reference=$out/reference
    mkdir -p "$reference"
    "$bin/shardlab" measure "${job[@]}" --backend host --world 1 --quiet --json "$reference/gpt2-tiny.json" \
      --save-grads "$reference/gpt2-tiny.safetensors" || return
  fi
  run host-equal "${job[@]}" --save-grads "$out/host-equal.safetensors" || return
  compare same "$reference/gpt2-tiny.json" "$out/host-equal.measured.json" 1e-4 &&
    compare grads "$reference/gpt2-tiny.safetensors" "$out/host-equal.safetensors" 1e-4 &&
    rm "$out/host-equal.safetensors"
}

bits() { # two runs, equal bits, with dropout and flash attention in bf16
  local i
  gpt2 bits 6 256 8 0.1
  config bits 0 ', "bf16": {"enabled": true}'
  for i in 1 2; do
    run bits-$i --model "$out/bits.model.json" --config "$out/bits.config.json" --cluster "$card" --data "$corpus" \
      --attention flash --micro-batch 3 --seq 250 --steps 4 --save-grads "$out/bits-$i.safetensors" || return
  done
  cmp "$out/bits-1.safetensors" "$out/bits-2.safetensors" && echo "two runs gave equal bits"
  local code=$?
  rm -f "$out"/bits-?.safetensors
  return $code
}

# Ranks that share the GPU against one rank: the same global batch.
equal_ranks() { # WORLD STAGE FLAGS...
  local world=$1 zero=$2 name one=$all/one
  shift 2
  config "z$zero" "$zero" ""
  if [ ! -f "$one/record.json" ]; then # the first of these stages makes it, for all
    mkdir -p "$one"
    run one --model gpt2-tiny --cluster "$card" --config "$out/z$zero.config.json" --zero-stage 0 --train-batch 8 \
      --micro-batch 2 --seq 64 --steps 5 --data "$corpus" --save-grads "$one/one.safetensors" &&
      cp "$out/one.measured.json" "$one/record.json" || return
  fi
  name=ranks-$world-zero$zero$(tr -d " -" <<<"$*")
  run "$name" --model gpt2-tiny --cluster "$node" --config "$out/z$zero.config.json" --world "$world" --train-batch 8 \
    --micro-batch 2 --seq 64 --steps 5 --data "$corpus" --save-grads "$out/$name.safetensors" "$@" &&
    compare same "$one/record.json" "$out/$name.measured.json" 1e-4 &&
    compare grads "$one/one.safetensors" "$out/$name.safetensors" 1e-4 && rm "$out/$name.safetensors"
}

calibrated() { # is there a profile of this GPU that can be read?
  [ -s "$all/profile/profile.json" ] && "$bin/shardlab" show cluster --cluster "$all/profile/profile.json" >"$out/profile.txt"
}

with_context() { # PRESET: as a file, with the profile's context where there is one; without, no prediction is held to a limit
  cluster=$out/$1.json within=inf
  "$bin/shardlab" show cluster --cluster "$1" >"$cluster" || return
  calibrated || return 0
  within=0.01
  compare context "$all/profile/profile.json" "$cluster"
}

arena() { # predicted and allocated, to the byte
  local cluster within
  with_context "$card" || return
  local job=(--model gpt2 --config "$out/arena.config.json" --cluster "$cluster" --seq 1024)
  config arena 0 ""
  "$bin/shardlab" predict "${job[@]}" --quiet --json "$out/arena.predicted.json" || return
  run arena "${job[@]}" --steps 3 --data "$corpus" || return
  compare arena "$out/arena.predicted.json" "$out/arena.measured.json" "$within"
}

# Kernels of these tests, each case in each number type in a process of its own; in a second call those that failed.
kernels() { # TEST...
  python3 "$root/tests/gpu/kernels.py" "$bin" "$out" ${before:+--failed-in "$before"} "$@"
}

sanitized() { # TOOL TEST...: our kernels alone, on all their shapes, as a sanitizer needs them (tests/kernels/gpu/cases.h)
  local tool=$1
  shift
  needs_gpu || return
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not on this machine" && return 77; }
  CASES_SANITIZED=1 python3 "$root/tests/gpu/kernels.py" "$bin" "$out" \
    --under "compute-sanitizer --tool $tool --error-exitcode 1" --limit "$limit" "$@"
}

profile() { # round after round while there is time for one more, three at most; a cut leaves what the earlier ones gave
  local flags=(--backend cuda --rounds 1 --out "$out/profile.json") rounds=0
  needs_gpu || return
  [ "${QUICK:-}" != 1 ] || flags+=(--quick)
  rm -f "$out/profile.json"
  while ((rounds == 0 || (rounds < 3 && SECONDS + SECONDS / rounds < limit - 10))); do
    "$bin/shardlab" calibrate "${flags[@]}" || return
    ((rounds++ > 0)) || flags+=(--add)
  done
  echo "$rounds rounds"
}

validate() {
  local cluster=$card
  needs_gpu || return
  if calibrated; then
    cluster=$all/profile/profile.json
  else
    echo "predicted with the preset $cluster: no profile of this GPU can be read"
  fi
  PROFILE=$cluster BIN=$bin BUDGET_S=$((limit - 25)) "$root/experiments/validate_gpu/run.sh" "$out"
}

alone() { # NAME MODEL TP PP WORLD RANK: one rank of a plan, its arena predicted and allocated
  local cluster within
  with_context "$node" || return
  local job=(--model "$2" --config "$out/$1.config.json" --cluster "$cluster" --tp "$3" --pp "$4" --micro-batch 1
    --grad-accum 4 --attention flash)
  config "$1" 0 ', "bf16": {"enabled": true}'
  "$bin/shardlab" predict "${job[@]}" --world "$5" --quiet --json "$out/$1.predicted.json" || return
  run "$1" "${job[@]}" --as-rank "$6" --of-world "$5" --steps 3 --data "$corpus" || return
  compare rank "$6" "$out/$1.predicted.json" "$out/$1.measured.json" "$within"
}

has_torch() {
  needs_gpu || return
  python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' && return
  echo "python3 of this machine has no PyTorch"
  return 77
}

torch() { # NAME MODEL BATCH SEQ FLAGS...
  local name=$1 model=$2 batch=$3 seq=$4
  shift 4
  has_torch || return
  LD_LIBRARY_PATH=$peer_libraries python3 "$root/tests/peers/torch_gpu.py" --model "$model" --data "$corpus" --batch "$batch" \
    --seq "$seq" --steps 20 --json "$out/$name.json" "$@"
}

torch_kernels() { # errors and attention's speed beside PyTorch's
  local library=$root/lib/libshardlab_cuda.so
  has_torch || return
  [ -e "$library" ] || library=$root/build/release/lib/libshardlab_cuda.so
  LD_LIBRARY_PATH=$peer_libraries python3 "$root/tests/peers/torch_kernels_gpu.py" "$library" --json "$out/torch-kernels.json"
}

model_of_peer() { # NAME MODEL SEQ: the sizes of tests/peers/torch_gpu.py, without dropout
  case $2 in
  gpt2) gpt2 "$1" 12 768 12 0 ;;
  gpt2-xl) gpt2 "$1" 48 1600 25 0 ;;
  llama-1b)
    cat >"$out/$1.model.json" <<JSON
{"model_type": "llama", "vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
 "num_attention_heads": 32, "num_key_value_heads": 4, "max_position_embeddings": $3, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
JSON
    ;;
  esac
}

peer_job() { # NAME MODEL BATCH SEQ MULTIPLE EPILOGUES: the peer's training, as flags in `job`
  model_of_peer "$1" "$2" "$4"
  config "$1" 0 ', "bf16": {"enabled": true}'
  job=(--model "$out/$1.model.json" --config "$out/$1.config.json" --cluster "$card" --micro-batch "$3" --seq "$4"
    --attention flash --data "$corpus" --make-vocab-size-divisible-by "$5" --fuse-epilogues "$6")
}

ours() { # NAME MODEL BATCH SEQ [MICRO_BATCHES STEPS]: steps are timed without, and then looked into with a trace
  local job
  peer_job "$1" "$2" "$3" "$4" 128 gpu
  job+=(--grad-accum "${5:-1}")
  run "$1" "${job[@]}" --steps "${6:-25}" || return
  run "$1-traced" "${job[@]}" --steps 3 --trace "$out/$1.trace.json" && gzip -f "$out/$1.trace.json"
}

ops() { # a step of GPT-2 124M op by op: what padding the vocabulary and cuBLASLt's epilogues are worth
  local job variant multiple epilogues failed=0
  needs_gpu || return
  for variant in padded-fused:128:gpu unpadded-fused:1:gpu padded-apart:128:never unpadded-apart:1:never; do
    IFS=: read -r variant multiple epilogues <<<"$variant"
    peer_job "$variant" gpt2 8 1024 "$multiple" "$epilogues"
    run "$variant" "${job[@]}" --steps 5 --trace "$out/$variant.trace.json" || failed=1
  done
  python3 "$root/tests/gpu/ops.py" "$out" || failed=1
  gzip -f "$out"/*.trace.json
  return $failed
}

two_ranks() { # on one GPU, with NCCL's own account of how they met
  NCCL_DEBUG=INFO NCCL_DEBUG_FILE=$out/nccl-%p.log equal_ranks 2 1
}

# States in pinned memory and on NVMe, updated by the CPU, against states on the device: memory of each kind and what each link
# carries as predicted, and the same losses. The link's rates stand in the log.
offload() {
  local mode keys zero link failed=0 memory='"device": "cpu"' disk="\"device\": \"nvme\", \"nvme_path\": \"$out\"" cluster=$out/cluster.json
  needs_gpu || return
  "$bin/shardlab" show cluster --cluster "$card" | sed 's/"nvme_\(read\|write\)_GBps": 0.0/"nvme_\1_GBps": 3.0/' >"$cluster" || return
  for mode in none states both disk; do
    zero=3
    case $mode in
    none) keys= zero=2 ;;
    states) keys=", \"offload_optimizer\": {$memory}" zero=2 ;;
    both) keys=", \"offload_optimizer\": {$memory}, \"offload_param\": {$memory}" ;;
    disk) keys=", \"sub_group_size\": 300000, \"offload_optimizer\": {$disk, \"pipeline_read\": true, \"pipeline_write\": true},
          \"offload_param\": {$disk, \"max_in_cpu\": 0}" ;;
    esac
    config "$mode" "$zero$keys" ""
    link=(--model gpt2-tiny --cluster "$cluster" --config "$out/$mode.config.json" --seq 64 --train-batch 4 --micro-batch 2)
    "$bin/shardlab" predict "${link[@]}" --quiet --json "$out/$mode.predicted.json" &&
      run "$mode" "${link[@]}" --steps 4 --data "$corpus" &&
      compare moved "$out/$mode.predicted.json" "$out/$mode.measured.json" || return
  done
  for mode in states both disk; do compare same "$out/none.measured.json" "$out/$mode.measured.json" 1e-4 || failed=1; done
  return $failed
}

stages_of_memory() {
  needs_gpu || return
  MODEL=gpt2-mini PRECISIONS=bf16 BIN=$bin LIMIT_S=40 BUDGET_S=$((limit - 25)) \
    "$root/experiments/memory_vs_stage/run.sh" --backend cuda "$out" && compare memory "$out/measured.csv"
}

"$@"
