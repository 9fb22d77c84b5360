#!/usr/bin/env bash
# A profile fitted to the points of an H100 predicts the steps that were measured on it: experiments/validate_gpu/again.sh
# usage: validate_gpu.sh FOLDER_OF_PROGRAMS
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
BIN=$1 "$root/experiments/validate_gpu/again.sh" "$here" >/dev/null
python3 - "$here/points.tsv" <<'PY'
import csv, statistics, sys
rows = list(csv.DictReader(open(sys.argv[1]), delimiter="\t"))
assert len(rows) == 30, len(rows)
errors = {r["name"]: abs(float(r["predicted_ms"]) / float(r["measured_ms"]) - 1) for r in rows}
median, (worst, name) = statistics.median(errors.values()), max((e, n) for n, e in errors.items())
assert median <= 0.03 and worst <= 0.06, f"median {median:.3f}, worst {worst:.3f} ({name})"
for r in rows:
    assert r["predicted_GiB"] == r["measured_GiB"], f"the arena of {r['name']}: {r}"
PY
