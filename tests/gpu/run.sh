#!/usr/bin/env bash
# One part of what a machine with a GPU is asked, in less than 9 minutes; run from the tree or from an unpacked bundle.
#   check    kernels against the host's, PyTorch's goldens, losses and gradients of the host backend, equal bits of two
#            runs, several ranks on one GPU against one, arena predicted against allocated
#   sanitize memcheck and racecheck of every kernel and of a step
#   measure  calibration, experiments/validate_gpu with the profile, one rank of two large plans
#   peer     PyTorch on the same GPU: its kernels' errors and its speed beside ours; experiments/memory_vs_stage with all
#            ranks on this GPU
# Every stage has a time limit of its own, a part's limits together are its time, and those that tell most come first;
# what fails or is late, or finds no time left, is a line of the table, and the others go on. What needs a GPU is skipped,
# by name, where there is none. Everything lands in OUT (out/gpu-PART) and OUT.tar.gz; the table is printed last, and is
# OUT/table.txt. STAGES="NAME..." runs these alone, QUICK=1 calibrates with fewer points, PART_S (510) is a part's time in
# seconds. usage: run.sh --part PART [OUT]
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "${1:-}" = --part ] && [ -n "${2:-}" ] || { sed -n '2,/^# seconds/s/^# //p' "$0" >&2; exit 2; }
part=$2
mkdir -p "${3:-$PWD/out/gpu-$part}" || exit 2
out=$(cd "${3:-$PWD/out/gpu-$part}" && pwd)
bin=$root/bin
[ -x "$bin/shardlab" ] || bin=$root/build/release/bin
[ -x "$bin/shardlab" ] || { echo "gpu: no shardlab in $root: build it, or unpack a bundle" >&2; exit 2; }
end=$((SECONDS + ${PART_S:-510}))
: >"$out/stages.tsv"
PATH=$PATH:/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer:/usr/local/nvidia/bin

# CUDA's libraries by soname: where the system's loader, the toolkit or PyTorch's packages keep them.
find_library() {
  local name=$1 folder
  [[ $(ldconfig -p 2>/dev/null) != *"$name"* ]] || return 0
  for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/local/cuda*/lib64 /usr/local/cuda*/lib \
    /usr/local/cuda*/targets/x86_64-linux/lib /usr/lib/x86_64-linux-gnu \
    $(python3 -c 'import glob, site; print(*[f for s in site.getsitepackages() for f in glob.glob(s + "/nvidia/*/lib")])' \
      2>/dev/null); do
    [ -e "$folder/$name" ] || continue
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH${LD_LIBRARY_PATH:+:}$folder
    return
  done
  echo "gpu: $name is not on this machine" >&2
}
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
peer_libraries=$LD_LIBRARY_PATH # PyTorch brings libraries of its own, and is not to meet those that we find
[ -d "$root/lib" ] && LD_LIBRARY_PATH=$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for name in libcuda.so.1 libnvidia-ml.so.1 libcublasLt.so.13 libnccl.so.2; do find_library "$name"; done

{
  date -u +%Y-%m-%dT%H:%MZ
  cat "$root/VERSION" 2>/dev/null || git -C "$root" rev-parse HEAD 2>/dev/null
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm --format=csv
  LD_LIBRARY_PATH=$peer_libraries python3 -c 'import torch; print("torch", torch.__version__, "NCCL", torch.cuda.nccl.version())'
  LD_TRACE_LOADED_OBJECTS=1 "$root/bin/shardlab"
  ldd "$root"/lib/libshardlab_cuda.so "$root"/build/release/lib/libshardlab_cuda.so | grep -E 'cublas|nccl|not found'
  "$bin/shardlab" backends
} >"$out/versions.txt" 2>&1
gpu=0
[[ $("$bin/shardlab" backends 2>/dev/null) =~ "cuda backend   present" ]] && gpu=1

# stage NAME SECONDS COMMAND...: run it within its time and what is left of the part's; note how it ended.
stage() {
  local name=$1 left=$((end - SECONDS)) start=$SECONDS code verdict
  local -x limit=$2
  shift 2
  [[ " ${STAGES:-$name} " == *" $name "* ]] || return 0
  [ "$left" -lt "$limit" ] && limit=$left
  if [ "$limit" -lt 5 ]; then
    printf '%s\tlate\t0\tno time left\n' "$name" >>"$out/stages.tsv"
    return 0
  fi
  echo "gpu: $name" >&2
  # shorter than the stage: ranks that stand still are to say where
  local -x SHARDLAB_TIMEOUT_S=${SHARDLAB_TIMEOUT_S:-$((limit < 45 ? limit * 2 / 3 : 30))}
  limited "$@" >"$out/$name.log" 2>&1
  code=$?
  case $code in 0) verdict=passed ;; 77) verdict=skipped ;; 124 | 137) verdict=late ;; *) verdict=FAILED ;; esac
  printf '%s\t%s\t%d\t%s\n' "$name" "$verdict" $((SECONDS - start)) \
    "$(grep -av '^ *$' "$out/$name.log" | tail -n 1 | tr -d '\r\t' | cut -c1-160)" >>"$out/stages.tsv"
}

limited() { # COMMAND...: within $limit seconds; a function too, in a shell of its own
  if [ "$(type -t "$1")" = function ]; then
    timeout -k 5 "$limit" bash -c '"$@"' stage "$@"
  else
    timeout -k 5 "$limit" "$@"
  fi
}

needs_gpu() { # where there is a GPU, a backend that cannot be loaded is a failure
  [ "$gpu" = 1 ] && return
  "$bin/shardlab" backends | sed -n 's/^cuda backend *absent *//p'
  nvidia-smi -L >/dev/null 2>&1 && return 1
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

table() { python3 "$root/tests/gpu/table.py" "$@"; }

run() { # NAME FLAGS...: measure on the GPU; --cluster, --model ... are the caller's
  local name=$1
  shift
  needs_gpu || return
  "$bin/shardlab" measure "$@" --backend cuda --quiet --json "$out/$name.measured.json"
}

golden() { # FOLDER RUN FLAGS...: from PyTorch's initial weights, on its data
  local folder=$root/tests/golden/$1 data
  data=$folder/tokens.bin
  [ -e "$data" ] || data=random:80
  run "golden-$1-$2" --model "$folder/config.json" --config "$folder/ds_$2.json" --init "$folder/init.safetensors" \
    --data "$data" --cluster h200x1 "${@:3}"
}

goldens() { # PyTorch's own numbers in double precision: ten steps' losses and gradient norms, the first step's gradients
  local model run
  needs_gpu || return
  for model in gpt2_odd llama_odd mlp; do
    for run in adamw_clip sgd; do
      golden $model $run --steps 10 &&
        table golden "$root/tests/golden/$model" $run "$out/golden-$model-$run.measured.json" || return
    done
    golden $model adamw --steps 1 --save-grads "$out/$model.safetensors" &&
      table grads "$root/tests/golden/$model/grads_f64.safetensors" "$out/$model.safetensors" 1e-5 || return
    rm "$out/$model.safetensors"
  done
}

# Losses, gradient norms and the last gradients of the host backend, 20 steps: a bundle brings them, a tree can make them.
host_equal() {
  local reference=$root/reference
  local job=(--model gpt2-tiny --config "$root/examples/ds_zero0.json" --cluster h200x1 --data "$corpus" --steps 20)
  needs_gpu || return
  if [ ! -d "$reference" ]; then
    "$bin/shardlab" backends | sed -n 's/^host backend *absent *//p' | grep . && return 77
    reference=$out/reference
    mkdir -p "$reference"
    "$bin/shardlab" measure "${job[@]}" --backend host --world 1 --quiet --json "$reference/gpt2-tiny.json" \
      --save-grads "$reference/gpt2-tiny.safetensors" || return
  fi
  run host-equal "${job[@]}" --save-grads "$out/host-equal.safetensors" || return
  table same "$reference/gpt2-tiny.json" "$out/host-equal.measured.json" 1e-4 &&
    table grads "$reference/gpt2-tiny.safetensors" "$out/host-equal.safetensors" 1e-4 &&
    rm "$out/host-equal.safetensors"
}

bits() { # two runs, equal bits, with dropout and flash attention in bf16
  local i
  gpt2 bits 6 256 8 0.1
  config bits 0 ', "bf16": {"enabled": true}'
  for i in 1 2; do
    run bits-$i --model "$out/bits.model.json" --config "$out/bits.config.json" --cluster h200x1 --data "$corpus" \
      --attention flash --micro-batch 3 --seq 250 --steps 4 --save-grads "$out/bits-$i.safetensors" || return
  done
  cmp "$out/bits-1.safetensors" "$out/bits-2.safetensors" && echo "two runs gave equal bits"
  local code=$?
  rm -f "$out"/bits-?.safetensors
  return $code
}

# Ranks that share the GPU against one rank: the same global batch.
equal_ranks() { # WORLD STAGE FLAGS...
  local world=$1 zero=$2 name
  shift 2
  config "z$zero" "$zero" ""
  [ -f "$out/one.safetensors" ] || run one --model gpt2-tiny --cluster h200x1 --config "$out/z$zero.config.json" \
    --zero-stage 0 --train-batch 8 --micro-batch 2 --seq 64 --steps 5 --data "$corpus" \
    --save-grads "$out/one.safetensors" || return
  name=ranks-$world-zero$zero$(tr -d " -" <<<"$*")
  run "$name" --model gpt2-tiny --cluster dgx-h200 --config "$out/z$zero.config.json" --world "$world" --train-batch 8 \
    --micro-batch 2 --seq 64 --steps 5 --data "$corpus" --save-grads "$out/$name.safetensors" "$@" &&
    table same "$out/one.measured.json" "$out/$name.measured.json" 1e-4 &&
    table grads "$out/one.safetensors" "$out/$name.safetensors" 1e-4 && rm "$out/$name.safetensors"
}

calibrated() { # is there a profile of this GPU that can be read?
  [ -s "$out/profile.json" ] && "$bin/shardlab" show cluster --cluster "$out/profile.json" >"$out/profile.txt"
}

with_context() { # PRESET: as a file, with the profile's context where there is one; without, no prediction is held to a limit
  cluster=$out/$1.json within=inf
  "$bin/shardlab" show cluster --cluster "$1" >"$cluster" || return
  calibrated || return 0
  within=0.01
  table context "$out/profile.json" "$cluster"
}

arena() { # predicted and allocated, to the byte
  local cluster within
  with_context h200x1 || return
  local job=(--model gpt2 --config "$out/arena.config.json" --cluster "$cluster" --seq 1024)
  config arena 0 ""
  "$bin/shardlab" predict "${job[@]}" --quiet --json "$out/arena.predicted.json" || return
  run arena "${job[@]}" --steps 3 --data "$corpus" || return
  table arena "$out/arena.predicted.json" "$out/arena.measured.json" "$within"
}

has_sanitizer() {
  needs_gpu || return
  command -v compute-sanitizer >/dev/null && return
  echo "compute-sanitizer is not on this machine"
  return 77
}

sanitizer() { # TOOL: a step of two small models, with all that stands beside our kernels
  has_sanitizer || return
  config small 0 ', "bf16": {"enabled": true}'
  compute-sanitizer --tool "$1" --error-exitcode 1 "$bin/shardlab" measure --model gpt2-tiny --backend cuda \
    --config "$root/examples/ds_zero0.json" --cluster h200x1 --data "$corpus" --seq 16 --steps 2 --quiet &&
    compute-sanitizer --tool "$1" --error-exitcode 1 "$bin/shardlab" measure --backend cuda --quiet \
      --model "$root/tests/golden/llama_odd/config.json" --config "$out/small.config.json" --attention flash \
      --cluster h200x1 --data "$root/tests/golden/llama_odd/tokens.bin" --seq 16 --steps 2
}

sanitized_kernels() { # TOOL TEST...: the kernels of these tests, on all their shapes, as a sanitizer needs them (tests/cuda/cases.h)
  local tool=$1 test
  shift
  has_sanitizer || return
  for test in "$@"; do
    CASES_SANITIZED=1 compute-sanitizer --tool "$tool" --error-exitcode 1 "$bin/test_cuda_$test" || return
  done
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
  local cluster=h200x1
  needs_gpu || return
  if calibrated; then
    cluster=$out/profile.json
  else
    echo "predicted with the preset $cluster: no profile of this GPU can be read"
  fi
  PROFILE=$cluster BIN=$bin BUDGET_S=$((limit - 25)) "$root/experiments/validate_gpu/run.sh" "$out/validate"
}

alone() { # NAME MODEL TP PP WORLD RANK: one rank of a plan, its arena predicted and allocated
  local cluster within
  with_context dgx-h200 || return
  local job=(--model "$2" --config "$out/$1.config.json" --cluster "$cluster" --tp "$3" --pp "$4" --micro-batch 1
    --grad-accum 4 --attention flash)
  config "$1" 0 ', "bf16": {"enabled": true}'
  "$bin/shardlab" predict "${job[@]}" --world "$5" --quiet --json "$out/$1.predicted.json" || return
  run "$1" "${job[@]}" --as-rank "$6" --of-world "$5" --steps 3 --data "$corpus" || return
  table rank "$6" "$out/$1.predicted.json" "$out/$1.measured.json" "$within"
}

has_torch() {
  needs_gpu || return
  LD_LIBRARY_PATH=$peer_libraries python3 -c 'import torch' && return
  echo "python3 of this machine has no PyTorch"
  return 77
}

torch() { # NAME FLAGS...
  local name=$1
  shift
  has_torch || return
  LD_LIBRARY_PATH=$peer_libraries python3 "$root/tests/peers/torch_gpt2_gpu.py" --batch 8 --seq 1024 --steps 20 \
    --json "$out/$name.json" "$@"
}

torch_kernels() { # errors and attention's speed beside PyTorch's
  local library=$root/lib/libshardlab_cuda.so
  has_torch || return
  [ -e "$library" ] || library=$root/build/release/lib/libshardlab_cuda.so
  LD_LIBRARY_PATH=$peer_libraries python3 "$root/tests/peers/torch_kernels_gpu.py" "$library" --json "$out/torch-kernels.json"
}

ours() { # the peer's model, which has no dropout; steps are timed without, and then looked into with a trace
  local job=(--model "$out/peer.model.json" --cluster h200x1 --config "$out/peer.config.json" --micro-batch 8 --seq 1024
    --attention flash --data "$corpus")
  gpt2 peer 12 768 12 0
  config peer 0 ', "bf16": {"enabled": true}'
  run ours "${job[@]}" --steps 25 || return
  run ours-traced "${job[@]}" --steps 3 --trace "$out/ours.trace.json" && gzip -f "$out/ours.trace.json"
}

stages_of_memory() {
  needs_gpu || return
  MODEL=gpt2-mini PRECISIONS=bf16 BIN=$bin LIMIT_S=40 BUDGET_S=$((limit - 25)) \
    "$root/experiments/memory_vs_stage/run.sh" --backend cuda "$out/memory_vs_stage" && table memory "$out/memory_vs_stage/measured.csv"
}

part_check() { # 505 s
  rm -f "$out/one.safetensors" # of an earlier call
  stage kernels 80 "$bin/test_cuda_kernels"
  stage attention 40 "$bin/test_cuda_attention"
  stage control 15 "$bin/test_cuda_control"
  stage host-equal 35 host_equal
  stage goldens 50 goldens
  stage arena 30 arena
  stage bits 30 bits
  for zero in 0 1 2 3; do stage "ranks-2-zero$zero" 30 equal_ranks 2 "$zero"; done
  stage ranks-2-tp2 30 equal_ranks 2 0 --tp 2
  stage ranks-2-pp2 30 equal_ranks 2 0 --pp 2
  stage ranks-8-3d 45 equal_ranks 8 1 --tp 2 --pp 2
}

part_sanitize() { # 510 s
  for tool in memcheck racecheck; do
    stage $tool-kernels 90 sanitized_kernels $tool control kernels
    stage $tool-attention 90 sanitized_kernels $tool attention
    stage $tool-step 75 sanitizer $tool
  done
}

part_measure() { # 510 s
  stage profile 150 profile
  stage validate 280 validate
  stage gpt3-175b 40 alone gpt3-175b gpt3-175b 8 16 128 8
  stage llama-70b 40 alone llama-70b llama3-70b 8 8 64 8
}

part_peer() { # 510 s
  stage ours 60 ours
  stage torch-eager 50 torch torch-eager --no-compile
  stage torch 150 torch torch
  stage torch-kernels 60 torch_kernels
  stage memory-vs-stage 190 stages_of_memory
}

# Records bear their command line, and logs name files; where this folder stood is no part of it.
forget_folders() {
  find "$out" \( -name '*.json' -o -name '*.txt' -o -name '*.tsv' -o -name '*.log' \) -exec sed -i "s|$out/||g; s|$root/||g" {} +
}

declare -F "part_$part" >/dev/null || { echo "gpu: no part '$part': check, sanitize, measure, peer" >&2; exit 2; }
export -f needs_gpu config gpt2 table run golden goldens host_equal bits equal_ranks arena has_sanitizer sanitizer sanitized_kernels \
  profile calibrated with_context validate alone has_torch torch torch_kernels ours stages_of_memory
export root out bin gpu peer_libraries
export corpus=$root/examples/corpus.txt
"part_$part"
forget_folders
table table "$out" | tee "$out/table.txt"
tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")"
! grep -qP '\t(FAILED|late)\t' "$out/stages.tsv"
