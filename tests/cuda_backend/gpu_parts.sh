#!/usr/bin/env bash
# The parts of ./dev gpu in an unpacked bundle whose GPU is a stand-in that takes time and computes nothing: calibration, fit,
# models predicted and measured, ranks of large plans alone, tables, archives and the records made of them. What
# compares numbers must fail there, and say so.
# usage: gpu_parts.sh SHARDLAB SHARDLAB_ANALYZE LIBSHARDLAB_CORE STAND_IN_MODULE
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$(mktemp -d)
trap 'rm -rf "$here" /dev/shm/shardlab-stand-in-$$-*' EXIT
bundle=$here/shardlab
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/tests" "$bundle/experiments"
cp "$1" "$2" "$bundle/bin/"
cp "$3" "$4" "$bundle/lib/"
cp -r "$root/dev" "$root/examples" "$bundle/"
cp -r "$root/tests/gpu" "$bundle/tests/"
cp -r "$root/tests/golden" "$bundle/tests/"
cp -r "$root/experiments/validate_gpu" "$root/experiments/memory_vs_stage" "$bundle/experiments/"
# tests of kernels, and a sanitizer, that say how they were started
mkdir "$here/path"
PATH=$here/path:$PATH
for test in kernels attention control; do
  printf '#!/bin/sh\necho "%s, sanitized: ${CASES_SANITIZED:-0}"\n' "$test" >"$bundle/bin/test_cuda_$test"
done
printf '#!/bin/sh\n[ "$1 $3 $4" = "--tool --error-exitcode 1" ] || exit 1\necho "$2"\nshift 4\n"$@"\n' >"$here/path/compute-sanitizer"
printf '#!/bin/sh\necho 80000\n' >"$here/path/nvidia-smi" # MiB free
chmod +x "$bundle"/bin/test_cuda_* "$here"/path/*
export SHARDLAB_STAND_IN=/shardlab-stand-in-$$ SHARDLAB_STAND_IN_IDLE=2 QUICK=1 STEPS=3 MODELS="gpt2 llama-1b" WORLDS="1 2"
fail() {
  echo "gpu_parts: $*" >&2
  exit 1
}
verdicts() { # PART "STAGE VERDICT"...: of exactly these stages, in this order
  local part=$1
  shift
  [ "$(cut -f1,2 --output-delimiter=' ' "$here/gpu-$part/stages.tsv")" = "$(printf '%s\n' "$@")" ] ||
    fail "stages of $part: $(cat "$here/gpu-$part/stages.tsv" "$here/gpu-$part"/*.log)"
}

"$bundle/dev" gpu --part measure "$here/gpu-measure" >"$here/measure.txt" 2>&1 || fail "measure: $(cat "$here/measure.txt")"
verdicts measure "profile passed" "validate passed" "gpt3-175b passed" "llama-70b passed"
grep -q "^1 x a stand-in, .*NCCL 2.28.9" "$here/measure.txt" || fail "the table does not name the device"
[ "$(wc -l <"$here/gpu-measure/validate/points.tsv")" -eq 13 ] || fail "not all configurations were measured"
grep -q '"name": "calibrated"' "$here/gpu-measure/validate/gpt2-1-none.predicted.json" || fail "predicted without the profile"
for plan in gpt3-175b llama-70b; do # the context of a preset would be off by more
  grep -q 'limit 1 %)$' "$here/gpu-measure/$plan.log" || fail "no limit: $(cat "$here/gpu-measure/$plan.log")"
done
for op in all gemm flash_attention adamw; do
  grep -qE "^\| $op \| [0-9]+ \| [0-9.]+ \| [0-9.]+ \| [+-][0-9.]+ % \|$" "$here/gpu-measure/validate/table.md" ||
    fail "times of ops: $(cat "$here/gpu-measure/validate/table.md")"
done
grep -q "process's memory: median 0.00 %, worst 0.00 %" "$here/measure.txt" || fail "memory: $(cat "$here/measure.txt")"

status=0
STAGES="host-equal arena bits ranks-2-pp2" "$bundle/dev" gpu --part check "$here/gpu-check" >"$here/check.txt" 2>&1 || status=$?
[ "$status" -eq 1 ] || fail "check: exit status $status; $(cat "$here/check.txt")"
verdicts check "host-equal skipped" "arena passed" "bits passed" "ranks-2-pp2 FAILED"
grep -q '"embd_pdrop": 0.1' "$here/gpu-check/bits-1.measured.json" || fail "equal bits without dropout say little"
grep -q 'limit inf %)$' "$here/gpu-check/arena.log" || fail "held to a guess: $(cat "$here/gpu-check/arena.log")"

status=0
STAGES="control arena" PART_S=0 "$bundle/dev" gpu --part check "$here/gpu-late" >"$here/late.txt" 2>&1 || status=$?
[ "$status" -eq 1 ] || fail "stages without time: exit status $status; $(cat "$here/late.txt")"
verdicts late "control late" "arena late"

STAGES="memcheck-kernels memcheck-step racecheck-attention" "$bundle/dev" gpu --part sanitize "$here/gpu-sanitize" \
  >"$here/sanitize.txt" 2>&1 || fail "sanitize: $(cat "$here/sanitize.txt")"
verdicts sanitize "memcheck-kernels passed" "memcheck-step passed" "racecheck-attention passed"
said() { # STAGE LINE...: a log's lines
  [ "$(cat "$here/gpu-sanitize/$1.log")" = "$(printf '%s\n' "${@:2}")" ] || fail "$1: $(cat "$here/gpu-sanitize/$1.log")"
}
said memcheck-kernels memcheck "control, sanitized: 1" memcheck "kernels, sanitized: 1"
said racecheck-attention racecheck "attention, sanitized: 1"

grep -q '^3 rounds$' "$here/gpu-measure/profile.log" || fail "profile: $(cat "$here/gpu-measure/profile.log")"

STAGES="ours memory-vs-stage" "$bundle/dev" gpu --part peer "$here/gpu-peer" >"$here/peer.txt" 2>&1 || fail "peer: $(cat "$here/peer.txt")"
verdicts peer "ours passed" "memory-vs-stage passed"
grep -q '"embd_pdrop": 0.0' "$here/gpu-peer/ours.measured.json" || fail "the model beside PyTorch's has dropout, PyTorch's has none"

# a run that fails, and all runs when time is up: their cells say so, and the others are in the table
unmeasured() { # NAME CELLS WHY: of the table that was written
  [ "$(grep -c '^| bf16 .* not measured | not measured |' "$here/$1/tables.md")" -eq "$2" ] || fail "$1: $(cat "$here/$1/tables.md")"
  [ "$(grep -c "$3: not measured\$" "$here/$1.txt")" -eq "$2" ] || fail "$1: $(cat "$here/$1.txt")"
}
memory() { # NAME
  MODEL=gpt2-mini PRECISIONS=bf16 "$bundle/experiments/memory_vs_stage/run.sh" --backend cuda "$here/$1" >"$here/$1.txt" 2>&1 ||
    fail "$1: $(cat "$here/$1.txt")"
}
printf '#!/bin/sh\ncase "$*" in *"measure "*"--zero-stage 2 "*) exit 3 ;; esac\nexec %s "$@"\n' "$bundle/bin/shardlab" >"$here/path/shardlab"
chmod +x "$here/path/shardlab"
BIN=$here/path memory failed
unmeasured failed 1 "bf16, 2 ranks, stage 2: exit status 3"
BIN=$bundle/bin BUDGET_S=0 memory cut
unmeasured cut 5 "no time left"

"$root/dev" records --into "$here/records" "$here"/gpu-{check,measure}.tar.gz
page=$(echo "$here"/records/*-a-stand-in)
[ -e "$page/measure/profile.json" ] && [ -e "$page/check/ranks-2-pp2.log" ] || fail "records: $(find "$page")"
grep -q '^| ranks-2-pp2 | FAILED ' "$page/README.md" || fail "records: $(cat "$page/README.md")"
if grep -rqF "$here" "$page"; then fail "a folder of this machine stands in $(grep -rlF "$here" "$page")"; fi
