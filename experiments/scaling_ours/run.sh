#!/usr/bin/env bash
# Weak and strong scaling of every ZeRO stage: measured on 1 and 2 ranks of this machine, predicted to 1024 devices.
# usage: experiments/scaling_ours/run.sh [--quick] [--no-measure] [OUT]     (after ./dev build)
# --quick ends at 128 ranks, --no-measure only predicts. PROFILE=FILE takes the node from a profile that `shardlab calibrate` wrote.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
worlds="1 2 4 8 16 32 64 128 256 512 1024" batch=1024
measured="1 2"
while [[ "${1:-}" = --* ]]; do
  case $1 in
  --quick) worlds="1 2 4 8 16 32 64 128" batch=128 ;;
  --no-measure) measured= ;;
  *) echo "run.sh: no flag $1; expected --quick or --no-measure" >&2; exit 2 ;;
  esac
  shift
done
out=${1:-out/scaling_ours}
here=experiments/scaling_ours
bin=${BIN:-$root/build/release/bin}
mkdir -p "$out/records"
rm -f "$out"/records/*.json
cluster=$here/cpu_nodes_25g.json
if [ -n "${PROFILE:-}" ]; then
  cluster=$out/cluster.json
  python3 $here/tables.py cluster "$PROFILE" >"$cluster"
fi

# The job of one point: weak keeps the batch of a rank, strong that of all ranks together.
point() { # cpu|gpu weak|strong world stage
  local largest model seq
  if [ "$1" = cpu ]; then largest=8 model=gpt2-mini seq=64; else largest=4 model=gpt3-1.3b seq=2048; fi
  local micro=$largest accumulate=1
  if [ "$2" = strong ]; then
    micro=$((batch / $3 < largest ? batch / $3 : largest))
    accumulate=$((batch / $3 / micro))
  fi
  job=(--model $model --seq $seq --world "$3" --zero-stage "$4" --micro-batch $micro --grad-accum $accumulate
    --make-vocab-size-divisible-by 1)
  if [ "$1" = cpu ]; then job+=(--config $here/ds_fp32.json); else job+=(--config $here/ds_bf16.json); fi
}

for machine in cpu gpu; do
  if [ $machine = cpu ]; then place=$cluster; else place=dgx-a100-80g; fi
  for kind in weak strong; do
    echo "== $machine, $kind scaling: predicted on $worlds" >&2
    for world in $worlds; do
      for stage in 0 1 2 3; do
        point $machine $kind "$world" $stage
        "$bin/shardlab" predict "${job[@]}" --cluster "$place" --quiet \
          --json "$out/records/${machine}_${kind}_${stage}_${world}_predicted.json"
      done
    done
  done
done

for kind in weak strong; do
  if [ $kind = weak ]; then steps=12; else steps=3; fi
  for world in $measured; do
    for stage in 0 1 2 3; do
      if [ $world -eq 1 ] && [ $stage -gt 0 ]; then continue; fi # one rank has nobody to share with
      echo "== cpu, $kind scaling: $world rank(s), stage $stage, $steps steps" >&2
      point cpu $kind $world $stage
      "$bin/shardlab" measure "${job[@]}" --steps $steps --data examples/corpus.txt --quiet \
        --json "$out/records/cpu_${kind}_${stage}_${world}_measured.json"
    done
  done
done

python3 $here/tables.py tables "$out" | tee "$out/tables.md"
experiments/draw.sh $here/scaling.gp "$out"
echo
echo "tables    $out/tables.md, scaling.csv"
echo "pictures  $out/scaling.{svg,png}"
