#!/usr/bin/env bash
# A kernel that faults on the GPU is named by its op, whatever call hears of it. The stand-in's GPU faults at its Nth kernel:
# where launches block the launch itself fails, so that its op is known; where they do not, marks must name the same op.
# In a later step, which has no marks, the command runs again with them; what does not fail again is still a failure.
# usage: name_errors.sh SHARDLAB LIBSHARDLAB_CORE STAND_IN_MODULE
set -euo pipefail
golden=$(cd "$(dirname "$0")/../../golden/gpt2_odd" && pwd)
source "$(dirname "$0")/stand_in.sh"
export SHARDLAB_CACHE= # products whose candidates are timed would be more kernels
echo '{"optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}}' >"$here/config.json"
fail() {
  echo "name_errors: $*" >&2
  exit 1
}

faults() { # N WORLD: measure with a fault at kernel N; what it says is $said
  local code=0
  said=$(SHARDLAB_STAND_IN_FAULT=$1 "$here/bin/shardlab" measure --model "$golden/config.json" --data "$golden/tokens.bin" --seq 17 \
    --steps 4 --train-batch 4 --micro-batch 1 --attention flash --quiet --config "$here/config.json" --backend cuda \
    --cluster dgx-h200 --world "$2" --zero-stage 2 --json "$here/record.json" 2>&1) || code=$?
  [ "$code" -eq 1 ] || fail "kernel $1, world $2: exit status $code: $said"
  [ ! -e "$here/record.json" ] || fail "kernel $1: a record was written"
}
op() { sed -n 's/.*\(#[0-9]* [a-z_]* on lane [a-z_]* in action [0-9A-Z_]*\).*/\1/p' <<<"$said" | tail -n 1; }

# warming up, initialisation, and the first step's forward, backward and update
for kernel in 3 31 140 262 333 470 812 1104; do
  faults $kernel 1
  grep -q "an illegal memory access was encountered" <<<"$said" || fail "kernel $kernel: $said"
  late=$(op)
  CUDA_LAUNCH_BLOCKING=1 faults $kernel 1
  [ -n "$late" ] && [ "$late" = "$(op)" ] || fail "kernel $kernel: named \"$late\", and \"$(op)\" where launches block: $said"
done

# a step without marks: the second run names it
faults 1900 1
grep -q "in an op of step [1-3] that is not known" <<<"$said" || fail "$said"
grep -q "running again with every op marked" <<<"$said" || fail "$said"
[ -n "$(op)" ] || fail "the second run names no op: $said"

# ... and of two ranks
faults 1100 2
grep -q "running again with every op marked" <<<"$said" || fail "$said"
[ -n "$(op)" ] || fail "the second run of two ranks names no op: $said"

# what the first run met and the second does not
code=0
said=$(SHARDLAB_MARK_OPS=1 SHARDLAB_FAILED_BEFORE="a fault of before" "$here/bin/shardlab" measure --model "$golden/config.json" \
  --data "$golden/tokens.bin" --seq 17 --steps 2 --train-batch 2 --micro-batch 1 --quiet --config "$here/config.json" --backend cuda \
  --cluster h200x1 --json "$here/record.json" 2>&1) || code=$?
[ "$code" -eq 1 ] && [ ! -e "$here/record.json" ] || fail "a failure that did not come again: exit status $code: $said"
grep -q "did not come again .*: a fault of before" <<<"$said" || fail "$said"
