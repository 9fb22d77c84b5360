#!/usr/bin/env bash
# usage: apply.sh ROOT
# Does every mutant still change the file that it names, and do the patches of tests/recipes still apply? Neither is planted here;
# run.sh and recipes.py do that. One that has gone stale proves nothing.
set -euo pipefail
cd "$1"
stale=0
for mutant in tests/mutants/*.sed; do
  file=$(sed -n 's/^# file: //p' "$mutant")
  if ! [ -f "$file" ] || sed -f "$mutant" "$file" | cmp -s - "$file"; then
    echo "$mutant: changes nothing in '$file'"
    stale=1
  fi
done
for patch in tests/recipes/*.patch; do
  git apply --check "$patch" || stale=1
done
exit "$stale"
