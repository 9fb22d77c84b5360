#!/usr/bin/env bash
# The parts of ./dev gpu after the first (gpu_first.sh) in an unpacked bundle whose GPU is a stand-in that takes time and computes
# nothing: calibration, fit, models predicted and measured, ranks of large plans alone, tables, archives and the records made of
# them. What compares numbers must fail there, and say so.
# usage: gpu_parts.sh SHARDLAB SHARDLAB_ANALYZE LIBSHARDLAB_CORE STAND_IN_MODULE FOLDER_OF_TESTS
set -euo pipefail
. "$(dirname "$0")/stand_in_bundle.sh"
# tests of kernels that pass as a sanitizer needs them, and a sanitizer that says what it was given
for test in kernels attention quantize control; do
  printf '#!/bin/sh\n[ "$1" != --list ] || { echo %s-bf16 && exit; }\n[ "${CASES_SANITIZED:-0}" = 1 ]\n' "$test" \
    >"$bundle/bin/test_cuda_$test"
done
printf '#!/bin/sh\n[ "$1 $3 $4" = "--tool --error-exitcode 1" ] || exit 1\necho "$2 $7" >>%q\nshift 4\n"$@"\n' "$here/sanitized" \
  >"$here/path/compute-sanitizer"
chmod +x "$bundle"/bin/test_cuda_* "$here"/path/*
export QUICK=1 STEPS=3 MODELS="gpt2 llama-1b" WORLDS="1 2"

"$bundle/dev" gpu --part measure "$here/gpu-measure" >"$here/measure.txt" 2>&1 || fail "measure: $(cat "$here/measure.txt")"
verdicts gpu-measure "fit passed" "profile passed" "validate passed" "gpt3-175b passed" "llama-70b passed"
grep -q "^1 x a stand-in, .*NCCL 2.28.9" "$here/measure.txt" || fail "the table does not name the device"
[ "$(wc -l <"$here/gpu-measure/validate/points.tsv")" -eq 13 ] || fail "not all configurations were measured"
grep -q '"name": "calibrated"' "$here/gpu-measure/validate/gpt2-1-none.predicted.json" || fail "predicted without the profile"
for rate in host_link host_bandwidth nvme_read nvme_write; do
  grep -q "\"${rate}_GBps_source\": \"shardlab calibrate" "$here/gpu-measure/profile/profile.json" || fail "$rate is not measured"
done
for plan in gpt3-175b llama-70b; do # the context of a preset would be off by more
  grep -q 'limit 1 %)$' "$here/gpu-measure/$plan/log.txt" || fail "no limit: $(cat "$here/gpu-measure/$plan/log.txt")"
done
for op in all gemm flash_attention adamw; do
  grep -qE "^\| $op \| [0-9]+ \| [0-9.]+ \| [0-9.]+ \| [+-][0-9.]+ % \|$" "$here/gpu-measure/validate/table.md" ||
    fail "times of ops: $(cat "$here/gpu-measure/validate/table.md")"
done
grep -q "process's memory: median 0.00 %, worst 0.00 %" "$here/measure.txt" || fail "memory: $(cat "$here/measure.txt")"

status=0 # of the stages that are one function, those that take it furthest
STAGES="kernels host-equal arena goldens bits ranks-2-zero3 ranks-2-cp2-a2a ranks-8-3d" "$bundle/dev" gpu --part check "$here/gpu-check" \
  >"$here/check.txt" 2>&1 || status=$?
[ "$status" -eq 1 ] || fail "check: exit status $status; $(cat "$here/check.txt")"
verdicts gpu-check "fit passed" "kernels FAILED" "host-equal skipped" "arena passed" "goldens FAILED" "bits passed" \
  "ranks-2-zero3 FAILED" "ranks-2-cp2-a2a FAILED" "ranks-8-3d FAILED"
for stage in ranks-2-zero3 ranks-2-cp2-a2a ranks-8-3d; do # all ran, and their numbers were compared
  grep -q '^5 steps: losses differ by ' "$here/gpu-check/$stage/log.txt" || fail "$stage: $(cat "$here/gpu-check/$stage/log.txt")"
done
archived gpu-check
grep -q '"embd_pdrop": 0.1' "$here/gpu-check/bits/bits-1.measured.json" || fail "equal bits without dropout say little"
grep -q 'limit inf %)$' "$here/gpu-check/arena/log.txt" || fail "held to a guess: $(cat "$here/gpu-check/arena/log.txt")"

status=0
STAGES="kernels arena" PART_S=0 "$bundle/dev" gpu --part check "$here/gpu-late" >"$here/late.txt" 2>&1 || status=$?
[ "$status" -eq 1 ] || fail "stages without time: exit status $status; $(cat "$here/late.txt")"
verdicts gpu-late "fit passed" "kernels late" "arena late"

"$bundle/dev" gpu --part sanitize "$here/gpu-sanitize" >"$here/sanitize.txt" 2>&1 ||
  fail "sanitize: $(cat "$here/sanitize.txt")"
verdicts gpu-sanitize "fit passed" {memcheck,racecheck,synccheck}-{kernels,attention}" passed"
[ "$(sort "$here/sanitized")" = "$(printf '%s\n' {memcheck,racecheck,synccheck}" "{attention,control,kernels,quantize}-bf16)" ] ||
  fail "sanitized: $(cat "$here/sanitized")"
grep -q '^3 rounds$' "$here/gpu-measure/profile/log.txt" || fail "profile: $(cat "$here/gpu-measure/profile/log.txt")"

# products of fp32 numbers in tf32 are calibrated to the end
"$bundle/bin/shardlab" calibrate --backend cuda --tf32 --quick --rounds 1 --out "$here/tf32.json" >"$here/tf32.txt" 2>&1 ||
  fail "calibrate --tf32: $(cat "$here/tf32.txt")"
grep -q '"dtype": "tf32"' "$here/tf32.json" || fail "calibrate --tf32 has no costs in tf32"

"$bundle/dev" gpu --part peer "$here/gpu-peer" >"$here/peer.txt" 2>&1 || fail "peer: $(cat "$here/peer.txt")"
verdicts gpu-peer "fit passed" "ours passed" "torch-eager skipped" "torch skipped" "torch-kernels skipped" "memory-vs-stage passed"
grep -q '"embd_pdrop": 0.0' "$here/gpu-peer/ours/ours.measured.json" || fail "the model beside PyTorch's has dropout, PyTorch's has none"

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

# What came back, as it is committed: two archives of a part complete each other, and the page says what that shows.
"$root/dev" records --into "$here/records" "$here"/gpu-{check,measure,sanitize}.tar.gz
STAGES="ranks-2-zero3" "$bundle/dev" gpu --part check "$here/later/gpu-check" >"$here/later.txt" 2>&1 || true
"$root/dev" records --into "$here/records" "$here/later/gpu-check.tar.gz"
page=$(echo "$here"/records/*-a-stand-in)
says() { grep -qE "$1" "$page/README.md" || fail "no '$1' in the page: $(cat "$page/README.md")"; }
[ -e "$page/measure/profile/profile.json" ] && [ -e "$page/check/ranks-2-zero3/log.txt" ] && [ ! -e "$page/check/bits/log.txt" ] ||
  fail "records: $(find "$page")"
says '^\| ranks-2-zero3 \| FAILED '
says '^\| goldens \| FAILED '
says '^\| bits \| passed '
says '^- two runs give equal bits \(check/bits\)$'
says '^- steps of five models .* \(measure/profile, measure/validate\)$'
says '^- losses, norms and gradients equal PyTorch.s in double precision \(check/goldens FAILED\)$'
says '^- our step was timed beside PyTorch.s \(peer/ours not run, peer/torch not run\)$'
says '^- memcheck finds nothing in any kernel of ours \(sanitize/memcheck-kernels, sanitize/memcheck-attention\)$'
[ "$(sed -n '/^## Not verified/q; s/^- .*(\(.*\))$/\1/p' "$page/README.md" | grep -cE 'FAILED|not run')" -eq 0 ] ||
  fail "verified without proof: $(cat "$page/README.md")"
if grep -rqF "$here" "$page"; then fail "a folder of this machine stands in $(grep -rlF "$here" "$page")"; fi
