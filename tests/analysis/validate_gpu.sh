#!/usr/bin/env bash
# Profiles fitted to the points of an H100 and of an H200 predict the steps that were measured on them:
# experiments/validate_gpu/again.sh
# usage: validate_gpu.sh FOLDER_OF_PROGRAMS
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
for gpu in h100:30:0.06 h200:29:0.07; do # the H200's time was up before the last
  IFS=: read -r gpu count worst <<<"$gpu"
  BIN=$1 "$root/experiments/validate_gpu/again.sh" "$gpu" "$here/$gpu" >/dev/null
  python3 - "$here/$gpu/points.tsv" "$count" "$worst" <<'PY'
import csv, statistics, sys
rows, count, limit = list(csv.DictReader(open(sys.argv[1]), delimiter="\t")), int(sys.argv[2]), float(sys.argv[3])
assert len(rows) == count, len(rows)
errors = {r["name"]: abs(float(r["predicted_ms"]) / float(r["measured_ms"]) - 1) for r in rows}
median, (worst, name) = statistics.median(errors.values()), max((e, n) for n, e in errors.items())
assert median <= 0.03 and worst <= limit, f"{sys.argv[1]}: median {median:.3f}, worst {worst:.3f} ({name})"
for r in rows:
    assert r["predicted_GiB"] == r["measured_GiB"], f"the arena of {r['name']}: {r}"
PY
done
