#!/usr/bin/env bash
# A rank that is killed, or stops answering, in the middle of a run: the job ends soon, with an exit status above 0, and says
# which rank it was, or where the others waited. usage: test_fault.sh SHARDLAB SOURCES
set -u
shardlab=$1 sources=$2
scratch=$(mktemp -d)
failures=0
job=

descendants() { # PID: its children, their children ...
  local child
  for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    echo "$child"
    descendants "$child"
  done
}

rank_pid() { # RANK: its process among those of the running job
  local pid
  for pid in $(descendants "$job"); do
    tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$pid" && return 0
  done 2>/dev/null
  return 1
}

finish() {
  [ -n "$job" ] && kill -9 $(descendants "$job") "$job" 2>/dev/null
  rm -rf "$scratch"
}
trap finish EXIT

start() { # a run without end of three ranks; returns when it trains
  local tries pid cpu
  "$shardlab" measure --model gpt2-tiny --config "$sources/examples/ds_zero2.json" --world 3 --seq 32 --steps 100000000 \
    --data "$sources/examples/corpus.txt" >"$scratch/out" 2>"$scratch/err" &
  job=$!
  for tries in $(seq 300); do
    sleep 0.2
    pid=$(rank_pid 1) || continue
    cpu=$(awk '{print $14}' "/proc/$pid/stat" 2>/dev/null) # hundredths of a second of its own
    [ "${cpu:-0}" -gt 40 ] && return 0
  done
  echo "the job does not start:"; cat "$scratch/err"
  exit 1
}

expect_end() { # NAME SECONDS PATTERN...
  local name=$1 most=$2 begin=$SECONDS status=0 pattern
  shift 2
  while kill -0 "$job" 2>/dev/null && [ $((SECONDS - begin)) -le $((most + 5)) ]; do sleep 0.1; done
  if kill -0 "$job" 2>/dev/null; then
    echo "FAIL $name: the job still runs after $((SECONDS - begin)) s"
    failures=1
    return
  fi
  wait "$job" || status=$?
  local took=$((SECONDS - begin))
  job=
  [ $took -le "$most" ] || { echo "FAIL $name: it took $took s, expected at most $most"; failures=1; }
  [ $status -gt 0 ] || { echo "FAIL $name: exit status 0"; failures=1; }
  for pattern in "$@"; do
    grep -Eq "$pattern" "$scratch/err" || { echo "FAIL $name: nothing like '$pattern' in:"; cat "$scratch/err"; failures=1; }
  done
  echo "$name: status $status after $took s: $(head -1 "$scratch/err")"
}

for rank in 0 2; do
  start
  kill -9 "$(rank_pid $rank)"
  expect_end "rank $rank killed" 10 "rank $rank died .*SIGKILL"
done

export SHARDLAB_TIMEOUT_S=3
start
kill -STOP "$(rank_pid 1)"
expect_end "rank 1 stopped" 10 'rank [02]: no progress for 3 s: #[0-9]+ [a-z_]+ .*waits for'
exit $failures
