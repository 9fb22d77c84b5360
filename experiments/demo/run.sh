#!/usr/bin/env bash
# The demo: a small GPT-2 on a real text with ZeRO-0 to ZeRO-3 on 2 ranks, predicted, measured and compared.
# usage: experiments/demo/run.sh [OUT]     (after ./dev build; ./dev demo does both)
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-$here/out/demo}
bin=${BIN:-$here/build/release/bin}
mkdir -p "$out"
cd "$here"

records=()
for stage in 0 1 2 3; do
  job=(--model gpt2-mini --config "examples/ds_zero$stage.json" --world 2 --seq 64)
  echo "== ZeRO-$stage" >&2
  "$bin/shardlab" predict "${job[@]}" --no-fold --quiet \
    --json "$out/predicted_zero$stage.json" --trace "$out/predicted_zero$stage.trace.json"
  "$bin/shardlab" measure "${job[@]}" --steps 20 --data examples/corpus.txt \
    --json "$out/measured_zero$stage.json" --trace "$out/measured_zero$stage.trace.json"
  "$bin/shardlab" compare "$out/predicted_zero$stage.json" "$out/measured_zero$stage.json" >"$out/compare_zero$stage.txt"
  records+=("$out/predicted_zero$stage.json" "$out/measured_zero$stage.json")
done

echo
"$bin/shardlab-analyze" table "$out" "${records[@]}" | tee "$out/table.md"
"$bin/shardlab-analyze" plot "$out"

# The four losses of a step must be one number: the spread over the stages, relative to the loss, is judged here.
awk -F, 'NR > 1 { low = high = $2
                  for (i = 3; i <= NF; i++) { if ($i < low) low = $i; if ($i > high) high = $i }
                  if ((high - low) / low > worst) worst = (high - low) / low }
         END { printf "\nlosses of the stages differ by at most %.1e relative (tolerance 1e-6)\n", worst
               exit !(NR > 1 && worst <= 1e-6) }' "$out/losses.csv"

cat <<END
pictures  $out/{memory,step_time,losses}.{svg,png}
traces    $out/{predicted,measured}_zero{0,1,2,3}.trace.json: open them at https://ui.perfetto.dev
tables    $out/table.md, runs.csv, losses.csv, compare_zero{0,1,2,3}.txt
END
