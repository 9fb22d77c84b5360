#!/usr/bin/env bash
# One part of what a machine with a GPU is asked, in less than 9 minutes; run from the tree or from an unpacked bundle.
#   check    kernels against the host's, memcheck and racecheck, losses against the host backend's, several ranks on one
#            GPU against one, arena predicted against allocated
#   measure  experiments/validate_gpu and one rank of two large plans
#   peer     PyTorch on the same GPU: its speed beside ours
# Every stage has a time limit of its own; what fails or is late is a line of the table, and the others go on. Everything
# lands in OUT (out/gpu-PART) and OUT.tar.gz; the table is printed last. usage: run.sh --part PART [OUT]
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "${1:-}" = --part ] && [ -n "${2:-}" ] || { sed -n 2,9p "$0" >&2; exit 2; }
part=$2
out=${3:-$PWD/out/gpu-$part}
bin=$root/bin
[ -x "$bin/shardlab" ] || bin=$root/build/release/bin
[ -x "$bin/shardlab" ] || { echo "gpu: no shardlab in $root: build it, or unpack a bundle" >&2; exit 2; }
end=$((SECONDS + 525))
mkdir -p "$out"
: >"$out/stages.tsv"

# CUDA's libraries by soname: where the system's loader, the toolkit or PyTorch's packages keep them.
find_library() {
  local name=$1 folder
  ldconfig -p 2>/dev/null | grep -q "$name" && return
  for folder in /usr/local/cuda*/lib64 /usr/lib/x86_64-linux-gnu \
    $(python3 -c 'import glob, site; print(*[f for s in site.getsitepackages() for f in glob.glob(s + "/nvidia/*/lib")])' \
      2>/dev/null); do
    [ -e "$folder/$name" ] || continue
    LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    return
  done
  echo "gpu: $name is not on this machine" >&2
}
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
[ -d "$root/lib" ] && LD_LIBRARY_PATH=$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for name in libcublasLt.so.13 libnccl.so.2; do find_library "$name"; done

{
  date -u +%Y-%m-%dT%H:%MZ
  cat "$root/VERSION" 2>/dev/null || git -C "$root" rev-parse HEAD 2>/dev/null
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm --format=csv
  python3 -c 'import torch; print("torch", torch.__version__, "NCCL", torch.cuda.nccl.version())'
  for name in libcublasLt.so.13 libnccl.so.2; do
    echo "$name $(readlink -f "$(tr ':' '\n' <<<"$LD_LIBRARY_PATH" | while read -r f; do ls "$f/$name" 2>/dev/null; done | head -1)")"
  done
} >"$out/versions.txt" 2>&1

# stage NAME SECONDS COMMAND...: run it within its time and what is left of the part's; note how it ended.
stage() {
  local name=$1 limit=$2 left=$((end - SECONDS)) start=$SECONDS code verdict
  shift 2
  [ "$left" -lt "$limit" ] && limit=$left
  if [ "$limit" -lt 5 ]; then
    printf '%s\tskipped\t0\tno time left\n' "$name" >>"$out/stages.tsv"
    return 0
  fi
  timeout -k 5 "$limit" "$@" >"$out/$name.log" 2>&1
  code=$?
  case $code in 0) verdict=passed ;; 77) verdict=skipped ;; 124 | 137) verdict=late ;; *) verdict=FAILED ;; esac
  printf '%s\t%s\t%d\t%s\n' "$name" "$verdict" $((SECONDS - start)) "$(tail -n 1 "$out/$name.log" | cut -c1-100)" \
    >>"$out/stages.tsv"
}

config() { # NAME STAGE MORE: a ds_config.json with AdamW
  cat >"$out/$1.config.json" <<JSON
{"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0, "zero_optimization": {"stage": $2},
 "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}, "shardlab": {"shuffle": false}$3}
JSON
}

run() { # NAME FLAGS...: predict and measure, records side by side
  local name=$1
  shift
  "$bin/shardlab" measure --cluster dgx-h200 "$@" --backend cuda --data "$root/examples/corpus.txt" --quiet \
    --json "$out/$name.measured.json"
}

same() { # REFERENCE MEASURED TOLERANCE: losses of every step
  python3 "$root/tests/gpu/table.py" same "$1" "$2" "$3"
}

equal_host() {
  "$bin/shardlab" measure --model gpt2-tiny --config "$root/examples/ds_zero0.json" --backend cuda --cluster h200x1 \
    --data "$root/examples/corpus.txt" --steps 20 --quiet --json "$out/host-equal.json" &&
    same "$root/reference/gpt2-tiny.json" "$out/host-equal.json" 1e-4
}

# Ranks that share the GPU against one rank: the same global batch.
equal_ranks() { # WORLD STAGE FLAGS...
  local world=$1 zero=$2 name
  shift 2
  config "z$zero" "$zero" ""
  [ -f "$out/one.measured.json" ] || run one --model gpt2-tiny --config "$out/z$zero.config.json" --zero-stage 0 \
    --train-batch 8 --micro-batch 2 --seq 64 --steps 5 || return 1
  name=ranks-$world-zero$zero$(tr -d " -" <<<"$*")
  run "$name" --model gpt2-tiny --config "$out/z$zero.config.json" --world "$world" --train-batch 8 \
    --micro-batch 2 --seq 64 --steps 5 "$@" && same "$out/one.measured.json" "$out/$name.measured.json" 1e-4
}

arena() { # predicted and allocated, to the byte
  config arena 0 ""
  "$bin/shardlab" predict --model gpt2 --config "$out/arena.config.json" --cluster h200x1 --seq 1024 --quiet \
    --json "$out/arena.predicted.json" &&
    run arena --model gpt2 --cluster h200x1 --config "$out/arena.config.json" --seq 1024 --steps 3 &&
    python3 "$root/tests/gpu/table.py" arena "$out/arena.predicted.json" "$out/arena.measured.json"
}

alone() { # NAME MODEL TP PP WORLD RANK
  config "$1" 0 ', "bf16": {"enabled": true}'
  run "$1" --model "$2" --config "$out/$1.config.json" --tp "$3" --pp "$4" --as-rank "$6" --of-world "$5" \
    --micro-batch 1 --grad-accum 4 --attention flash --steps 3
}

part_check() {
  stage kernels 120 "$bin/test_cuda_kernels"
  stage attention 90 "$bin/test_cuda_attention"
  stage host-equal 60 equal_host
  stage arena 60 arena
  for zero in 0 1 2 3; do stage "ranks-2-zero$zero" 60 equal_ranks 2 "$zero"; done
  stage ranks-2-tp2 60 equal_ranks 2 0 --tp 2
  stage ranks-2-pp2 60 equal_ranks 2 0 --pp 2
  stage ranks-8-3d 90 equal_ranks 8 1 --tp 2 --pp 2
  if command -v compute-sanitizer >/dev/null; then
    stage memcheck 60 compute-sanitizer --error-exitcode 1 "$bin/shardlab" measure --model gpt2-tiny --backend cuda \
      --config "$root/examples/ds_zero0.json" --cluster h200x1 --data "$root/examples/corpus.txt" --seq 16 --steps 1
    stage racecheck 60 compute-sanitizer --tool racecheck --error-exitcode 1 "$bin/shardlab" measure --model gpt2-tiny \
      --backend cuda --config "$root/examples/ds_zero0.json" --cluster h200x1 --data "$root/examples/corpus.txt" \
      --seq 16 --steps 1
  fi
}

part_measure() {
  stage validate 400 env BIN="$bin" "$root/experiments/validate_gpu/run.sh" "$out/validate"
  stage gpt3-175b 60 alone gpt3-175b gpt3-175b 8 16 128 8
  stage llama-70b 60 alone llama-70b llama3-70b 8 8 64 8
}

part_peer() {
  config peer 0 ', "bf16": {"enabled": true}'
  stage torch 300 python3 "$root/tests/peers/torch_gpt2_gpu.py" --batch 8 --seq 1024 --steps 20 --json "$out/torch.json"
  stage ours 120 run ours --model gpt2 --cluster h200x1 --config "$out/peer.config.json" --micro-batch 8 --seq 1024 --attention flash \
    --steps 20
}

declare -F "part_$part" >/dev/null || { echo "gpu: no part '$part': check, measure, peer" >&2; exit 2; }
# stages run functions too
export -f config run same equal_host equal_ranks arena alone
export root out bin
timeout() { # a function under the time limit, in a shell of its own
  if [ "$(type -t "$4")" = function ]; then
    command timeout "$1" "$2" "$3" bash -c '"$@"' stage "${@:4}"
  else
    command timeout "$@"
  fi
}
"part_$part"
tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")"
python3 "$root/tests/gpu/table.py" table "$out"
! grep -qP '\t(FAILED|late)\t' "$out/stages.tsv"
