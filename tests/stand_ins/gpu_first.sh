#!/usr/bin/env bash
# ./dev gpu --part first in a bundle whose GPU is a stand-in, to its end; and then with one fault at a time: a wrong kernel, an
# illegal address, a slow start, a missing library, an old driver, a stage killed in the middle, the whole call killed, a full
# disk. Each time the table is complete, names the stage, everything else has run, and the archive opens.
# usage: gpu_first.sh SHARDLAB SHARDLAB_ANALYZE LIBSHARDLAB_CORE STAND_IN_MODULE FOLDER_OF_TESTS
set -euo pipefail
. "$(dirname "$0")/stand_in_bundle.sh"
tests=$5
export CASES_SANITIZED=1 # a look is enough here: test_emulated_cuda_* look twice, at fp16, and in all cases
few() { # TEST PROGRAM CASES [FAULT]: test_cuda_TEST is a program of the tests, in few cases, with what befalls one of them
  printf '#!/bin/bash\n%s\nif [ "$1" = --list ]; then %q --list | grep -E "^(%s)-"; else exec %q "$@"; fi\n' "${4:-}" "$tests/$2" "$3" \
    "$tests/$2" >"$bundle/bin/test_cuda_$1"
  chmod +x "$bundle/bin/test_cuda_$1"
}
few kernels test_emulated_cuda_kernels "norms|activations|rope|embedding"
few attention test_emulated_cuda_attention "flash|limits"
for test in quantize control; do cp "$tests/test_emulated_cuda_$test" "$bundle/bin/test_cuda_$test"; done

# The program, with what $here/fault, where it stands, does to a stage first.
mv "$bundle/bin/shardlab" "$bundle/bin/shardlab.program"
printf '#!/bin/bash\nif [ -e %q ]; then . %q; fi\nexec "$(dirname "$0")/shardlab.program" "$@"\n' "$here/fault" "$here/fault" \
  >"$bundle/bin/shardlab"
chmod +x "$bundle/bin/shardlab"

first() { # NAME STATUS FLAGS...: the part into $here/NAME, and its exit status
  local name=$1 expected=$2 status=0
  shift 2
  "$bundle/dev" gpu --part first "$@" "$here/$name" >"$here/$name.out" 2>"$here/$name.err" || status=$?
  [ "$status" -eq "$expected" ] || fail "$name: exit status $status; $(cat "$here/$name".{out,err})"
  archived "$name"
}
line() { # NAME STAGE PATTERN: the table that was printed says this of a stage
  grep -qE "^$2 +$3" "$here/$1.out" || fail "$1: $2 is not '$3': $(cat "$here/$1".{out,err})"
}

# The time of a part holds its stages' limits.
python3 - "$root/tests/gpu" <<'PY' || fail "a part's limits are more than its time"
import sys
sys.path.insert(0, sys.argv[1])
from parts import PARTS
for name, part in PARTS.items():
    assert sum(s.limit for s in part.stages) <= part.seconds <= (235 if name == "first" else 530), name
PY

# All of it. Nothing is computed, so two ranks cannot equal one; there is no host backend here, and perhaps no PyTorch.
OUT=$here/came first whole 1
torch=("torch-kernels skipped")
if python3 -c 'import torch' 2>/dev/null; then torch=("torch-kernels FAILED" "torch-kernels-again FAILED"); fi
verdicts whole "fit passed" "machine passed" "kernels passed" "training skipped" "ops passed" "arena passed" "two-ranks FAILED" \
  "two-ranks-again FAILED" "offload FAILED" "offload-again FAILED" "${torch[@]}"
[ "$(grep -c '^memory .*, as predicted; .* kinds of traffic, as predicted: ' "$here/whole/offload/log.txt")" -eq 4 ] ||
  fail "offload: $(cat "$here/whole/offload/log.txt")"
[ "$(ls "$here/came")" = "$(printf '%s\n' whole.tar.gz whole.txt)" ] || fail "what came back: $(ls "$here/came")"
cmp "$here/came/whole.tar.gz" "$here/whole.tar.gz" && cmp "$here/came/whole.txt" "$here/whole.out" || fail "OUT is not the whole"
[ "$(cut -f1,2 "$here/whole/kernels/kernels.tsv" | grep -E '^(flash|norms|embedding)\s' | sort -u | wc -l)" -eq 6 ] ||
  fail "errors of kernels: $(cat "$here/whole/kernels/kernels.tsv")"
[ "$(head -1 "$here/whole/ops/ops.tsv" | wc -w)" -eq 9 ] || fail "ops: $(cat "$here/whole/ops/log.txt")"
grep -q '^gemm+gelu.*	0	' "$here/whole/ops/ops.tsv" || fail "epilogues: $(cat "$here/whole/ops/ops.tsv")"
mkdir "$here/unpacked" && tar -C "$here/unpacked" -xzf "$here/whole.tar.gz"
if grep -rlF "$here" "$here/unpacked"; then fail "a folder of this machine stands there"; fi

# A wrong kernel: its case in all types, the worst tensor first; the others pass, and a second look is at those alone.
few kernels test_planted_cuda_kernels "activations|rope|swiglu|sums"
few attention test_emulated_cuda_attention limits
export STAGES="kernels arena"
first wrong 1
verdicts wrong "fit passed" "kernels FAILED" "kernels-again FAILED" "arena passed"
line wrong kernels 'FAILED +[0-9]+  18 of 20 cases passed; not activations-[a-z0-9]*, activations-[a-z0-9]*: gelu'
line wrong kernels-again 'FAILED +[0-9]+  0 of 2 cases passed'
awk -F'\t' 'NR > 1 && $4 > 1 && ($1 != "activations" || $3 !~ /^gelu/) || NR == 2 && !($4 > 1) { exit 1 }' \
  "$here/wrong/kernels/kernels.tsv" || fail "errors: $(head "$here/wrong/kernels/kernels.tsv")"
CASES_REPORT=$here/report "$bundle/bin/test_cuda_kernels" --case activations-fp32 >/dev/null 2>&1 || true
[ "$(sort -t'	' -k4,4gr "$here/report" | head -1 | cut -f1-4)" = "$(sed -n 2p "$here/wrong/kernels/kernels.tsv" | cut -f1-4)" ] ||
  fail "not the worst error: $(sort -t'	' -k4,4gr "$here/report" | head -1)"

# An illegal address in a kernel's test, which is the end of its process: one case in one type, and no other.
few kernels test_emulated_cuda_kernels "activations|rope|swiglu|sums" '[ "$2" != rope-bf16 ] || kill -SEGV $$'
first address 1
verdicts address "fit passed" "kernels FAILED" "kernels-again FAILED" "arena passed"
line address kernels 'FAILED +[0-9]+  19 of 20 cases passed; not rope-bf16: ended by signal 11'

# An illegal address in a step; then a device that takes long to start, in time and not.
export STAGES="machine arena ops"
echo '[[ $stage != arena* || $1 != measure ]] || export SHARDLAB_STAND_IN_FAULT=2' >"$here/fault"
first sticky 1
verdicts sticky "fit passed" "machine passed" "ops passed" "arena FAILED" "arena-again FAILED"
line sticky arena 'FAILED .*CUDA: layernorm: an illegal memory access was encountered'
echo 'export SHARDLAB_STAND_IN_START_S=1' >"$here/fault"
first slow 0
verdicts slow "fit passed" "machine passed" "ops passed" "arena passed"
echo '[[ $stage != arena ]] || export SHARDLAB_STAND_IN_START_S=60' >"$here/fault"
STAGES="machine arena" PACE=0.3 first late 1
verdicts late "fit passed" "machine passed" "arena late" "arena-again passed"
line late arena 'late +[67]  ended after 6 s'

# What does not fit is said at once, with what was found and what is needed; what can run runs.
rm "$here/fault"
cp "$bundle/NEEDS" "$here/NEEDS"
needs() { sed "$1" "$here/NEEDS" >"$bundle/NEEDS"; }
needs s/libcublasLt.so.13/libcublasLt.so.99/
STAGES="machine arena" first missing 1
verdicts missing "fit FAILED" "machine passed" "arena passed"
line missing fit 'FAILED +0  libcublasLt.so.99 is not on this machine: '
[ "$(sed 's/ is not on.*//' "$here/missing.err")" = "$(printf 'gpu: %s\n' libcublasLt.so.99 machine arena)" ] ||
  fail "not said at once: $(cat "$here/missing.err")"
misfit() { # PATTERN: fit.py's only problem
  local said
  said=$(python3 "$bundle/tests/gpu/fit.py" "$bundle" | python3 -c 'import json, sys; print(*json.load(sys.stdin)["problems"], sep="\n")')
  [[ $said =~ ^$1$ ]] || fail "does not fit: '$said', expected '$1'"
}
needs 's/^glibc .*/glibc 9.9/'
misfit 'the C library is glibc 2\.[0-9]+; 9\.9 or later is needed'
needs 's/^cuda .*/cuda 14.0/'
misfit 'the driver is one for CUDA 13\.0; one for CUDA 14 or later is needed'
needs 's/^capability .*/capability 10.0/'
misfit 'the GPU has compute capability 9\.0; 10\.0 or later is needed'
needs '$a symbol libnccl.so.2 ncclCommSplit'
misfit 'libnccl\.so\.2 \(NCCL 22809\) lacks ncclCommSplit'
needs ''

# A stage that is killed in the middle; then the whole call, so that nothing of it can tidy up: its table stands, and --from
# goes on.
echo '[ "$stage" != arena ] || kill -9 $PPID' >"$here/fault"
first killed 1
verdicts killed "fit passed" "machine passed" "ops passed" "arena FAILED" "arena-again passed"
line killed arena 'FAILED +0  ended by signal 9'
unset STAGES
begun() { # NAME FAULT: the call in the background, until its stage arena runs; `call` is its process
  echo "$2" >"$here/fault"
  STAGES="machine arena ops" "$bundle/dev" gpu --part first "$here/$1" >"$here/$1.out" 2>&1 &
  call=$!
  for _ in $(seq 300); do
    if grep -qs "^arena	running" "$here/$1/stages.tsv" && [ -e "$here/$1/arena/begun" ]; then return; fi
    sleep 0.1
  done
  fail "arena does not begin: $(cat "$here/$1.out")"
}
hang='[ "$stage" != arena ] || { touch "$out/begun"; sleep 300; }'
begun cut "$hang"
kill -9 "$(pgrep -f -P "$call" run.py || echo "$call")" && wait "$call" || true
verdicts cut "fit passed" "machine passed" "ops passed" "arena running"
archived cut
pgrep -f "sleep 300" -s 0 >/dev/null || fail "the stage was to outlive the call"
rm "$here/fault"
STAGES="arena" first cut 0 --from arena
verdicts cut "fit passed" "machine passed" "ops passed" "arena passed"
for pid in $(pgrep -f "sleep 300" -s 0); do
  if tr '\0' '\n' <"/proc/$pid/environ" | grep -qxF "out=$here/cut/arena"; then fail "a process of the call that was killed runs on"; fi
done
begun told "echo '{\"environment\": {}}' >\"\$out/cut.measured.json\"; $hang" # and a record that is none
kill -TERM "$(pgrep -f -P "$call" run.py || echo "$call")" && wait "$call" && fail "a call that was ended says that all is well"
verdicts told "fit passed" "machine passed" "ops passed" "arena late"
archived told
grep -q '^arena	late	0	ended in its middle, by SIGTERM$' "$here/told.out" || fail "$(cat "$here/told.out")"
grep -q '^the records in told cannot be read: ' "$here/told.out" || fail "a broken record is not said: $(cat "$here/told.out")"

# A stage fills the disk: it alone fails. A disk that is full from elsewhere: the table is printed all the same.
export STAGES="machine arena ops"
echo '[ "$stage" != arena ] || cat /dev/zero >"$out/fill"' >"$here/fault"
small() { # BYTES COMMAND...: with $here/small on a disk of that size
  unshare -rm bash -c 'mount -t tmpfs -o size="$1" none "$2/small" && shift 2 && "$@"' small "$1" "$here" "${@:2}"
}
mkdir "$here/small"
full() {
  first small/part 1
  verdicts small/part "fit passed" "machine passed" "ops passed" "arena FAILED" "arena-again passed"
  line small/part arena 'FAILED .*No space left on device'
  echo '[ "$stage" != machine ] || cat /dev/zero >"$all/../fill"' >"$here/fault"
  "$bundle/dev" gpu --part first "$here/small/part" >"$here/full.out" 2>&1 && fail "a full disk: $(cat "$here/full.out")"
  for stage in fit machine ops arena; do grep -qE "^$stage +(passed|FAILED)" "$here/full.out" || fail "$(cat "$here/full.out")"; done
  grep -q 'part.tar.gz could not be renewed: No space left on device$' "$here/full.out" || fail "$(cat "$here/full.out")"
  tar -tzf "$here/small/part.tar.gz" >/dev/null || fail "the former archive is gone"
}
if small 1m true 2>/dev/null; then
  export -f full first line fail archived verdicts
  export here bundle
  small 24m bash -euo pipefail -c full
else
  echo "gpu_first: no small disk can be had here: the full one is not tested"
fi
