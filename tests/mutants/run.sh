#!/usr/bin/env bash
# Plants one fault after the other in a copy of the sources and asks the tests to notice. Each tests/mutants/NAME.sed is a
# sed script whose first lines say, as comments, what it breaks, in which file, and which tests must fail:
#
#   # The gradient is summed over the ranks, not averaged.
#   # file: core/models/decoder.c
#   # tests: test_lowering golden_2 grid3d_2
#
# (NAME_N: on N ranks; faults_KIND: those events of tests/faults; launch_mpirun: tests/launch; recovery_CASE: that of tests/faults/recovery.py; families_NAME: a family of tests/golden/families.py over all plans; monitor_own: tests/monitor.) A mutant counts as killed when one of its tests fails; the tests run in that order until then. Exit
# status 1 when one survives, or changes nothing, or does not compile, or when the tests fail without any mutant.
# usage: run.sh [NAME ...]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
root=$PWD
copy=$root/build/mutants
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export SHARDLAB_TIMEOUT_S=20 # of a rank that nobody answers
export SHARDLAB_CACHE=       # no product is timed
export CMOCKA_TEST_ABORT=1   # the first failure of a unit test is enough
grid=                        # the grid's reference is made without a mutant, then only read; and the first failure is enough

files() { (cd "$1" && find . \( -path ./build -o -path ./out -o -name '.[a-z]*' \) -prune -o -type f -print | sort); }

refresh() { # the copy as the tree stands; a file that does not differ keeps its time and is not built again
  local file
  mkdir -p "$copy/tree"
  comm -13 <(files "$root") <(files "$copy/tree") | (cd "$copy/tree" && xargs -r rm --)
  files "$root" | while read -r file; do
    cmp -s "$file" "$copy/tree/$file" || cp --parents "$file" "$copy/tree/"
  done
}

header() { sed -n "s/^# $2: //p" "$1"; }

wanted() { # the tests that the chosen mutants name; the grid on one rank makes what the others read
  local name
  for name in "${names[@]}"; do header "tests/mutants/$name.sed" tests; done | tr ' ' '\n' |
    sed '/^grid3d_[0-9]/i grid3d_1' | sort -u
}

cuda=OFF # GPU kernels take long to build, and are tested emulated
configure() { cmake -S "$copy/tree" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSL_CUDA=$cuda >/dev/null; }

need_cuda() { # of the cuda backend only the objects are built; without nvcc and NCCL its mutants are left out
  local name left=()
  # not grep -q, which goes at the first hit: what writes to it would fail, and with it all
  wanted | grep -xE 'test_cuda_(backend|graph|launches|offload)' >/dev/null || return 0
  cuda=AUTO
  configure && cmake --build "$copy/build" --target help | grep '^test_cuda_backend:' >/dev/null && return
  for name in "${names[@]}"; do
    if header "tests/mutants/$name.sed" tests | grep -qwE 'test_cuda_(backend|graph|launches|offload)'; then
      printf '%-28s %s\n' "$name" "left out: the cuda backend is not built here"
    else
      left+=("$name")
    fi
  done
  names=("${left[@]}")
}

build() {
  local programs
  # what a test's name stands for: a program of ranks, or the command line that a script runs
  mapfile -t programs < <(wanted | sed '
    s/^\(golden\|grid3d\|grid3d_fp8\|rank_order_train\|same_bits\|quantized\|onebit\|comm\|fp8\|offload_train\)_[0-9]*$/test_\1/
    s/^faults_.*/shardlab\nshardlab_stop_at\nshardlab_fail_at/
    s/^recovery_.*/shardlab/
    s/^\(hang$\|launch_\|monitor_\).*/shardlab/
    s/^families_.*/shardlab/
    s/^watch_curves$/shardlab-analyze/
    s/^\(goodput\|plot_records\)$/shardlab\nshardlab-analyze/
    s/^\(interop_property\|table_ran\)$/shardlab/
    s/^checkpoint_pairs$/shardlab/' | sort -u)
  configure && cmake --build "$copy/build" --target shardlab_core shardlab_host "${programs[@]}" >"$copy/log" 2>&1 ||
    { tail -20 "$copy/log"; return 1; }
}

ranks() { # N PROGRAM ARGUMENT...
  timeout 200 mpirun -np "$1" --bind-to none --oversubscribe --mca pml ob1 --mca btl self,vader "$copy/build/bin/$2" "${@:3}"
}

run_test() {
  case $1 in
  grid3d_fp8_*) ranks "${1#grid3d_fp8_}" test_grid3d_fp8 ;;
  grid3d_*) (cd "$copy" && ranks "${1#grid3d_}" test_grid3d $grid grid3d.reference) ;;
  faults_*) python3 -B tests/faults/faults.py "$copy/build/bin/shardlab" "$root" --stop-at "$copy/build/lib/libshardlab_stop_at.so" --fail-at "$copy/build/lib/libshardlab_fail_at.so" --only "${1#faults_}" --at-once 6 ;;
  families_context) python3 -B tests/golden/families_context.py "$copy/build/bin/shardlab" falcon_new bloom ;;
  families_*) python3 -B tests/golden/families.py "$copy/build/bin/shardlab" --all "${1#families_}" ;;
  recovery_*) python3 -B tests/faults/recovery.py "$copy/build/bin/shardlab" "$root" --only "${1#recovery_}" ;;
  launch_*) python3 -B tests/launch/jobs.py "${1#launch_}" "$copy/build/bin/shardlab" "$root" ;;
  checkpoint_pairs) python3 -B tests/checkpoint/pairs.py "$copy/build/bin/shardlab" "$root" --pairs 4 --same 3 ;;
  table_ran) python3 -B tests/table/ran.py "$root" "$copy/build/bin/shardlab" ;;
  interop_property) python3 -B tests/interop/property.py "$copy/build/bin/shardlab" 40 ;;
  goodput) python3 -B tests/analysis/goodput.py "$copy/build/bin/shardlab" "$copy/build/bin/shardlab-analyze" "$root" ;;
  watch_curves) python3 -B tests/monitor/watch.py "$copy/build/bin/shardlab-analyze" ;;
  plot_records) python3 -B tests/analysis/plot.py "$copy/build/bin/shardlab" "$copy/build/bin/shardlab-analyze" "$root" ;;
  hang) python3 -B tests/faults/hang.py "$copy/build/bin/shardlab" "$root" ;;
  monitor_*) python3 -B tests/monitor/monitor.py "${1#monitor_}" "$copy/build/bin/shardlab" "$root" ;;
  golden_*) ranks "${1#golden_}" test_golden ;;
  same_bits_[0-9]*) ranks "${1#same_bits_}" test_same_bits ;;
  quantized_[0-9]*) ranks "${1#quantized_}" test_quantized ;;
  fp8_[0-9]*) ranks "${1#fp8_}" test_fp8 ;;
  onebit_[0-9]*) ranks "${1#onebit_}" test_onebit ;;
  comm_[0-9]*) ranks "${1#comm_}" test_comm ;;
  offload_train_[0-9]*) ranks "${1#offload_train_}" test_offload_train ;;
  rank_order_train_*) ranks "${1#rank_order_train_}" test_rank_order_train ;;
  test_bounds_*) ASAN_OPTIONS=detect_leaks=0 CASES_SANITIZED=1 timeout 200 "$copy/build/bin/$1" ;; # as ctest starts it
  test_races_*) TSAN_OPTIONS=halt_on_error=1 CASES_SANITIZED=threads timeout 300 "$copy/build/bin/$1" ;; # the same
  *) # a test that a mutant ends early leaves its files
    rm -rf "$copy/scratch"
    mkdir "$copy/scratch"
    (cd "$copy/scratch" && timeout 300 "$copy/build/bin/$1") ;;
  esac >"$copy/log" 2>&1
}

mutate() { # FILE.sed; prints the verdict
  local source test
  source=$(header "$1" file)
  [ -f "$copy/tree/$source" ] || { echo "has no $source"; return 1; }
  cp "$copy/tree/$source" "$copy/good"
  sed -i -f "$1" "$copy/tree/$source"
  if cmp -s "$root/$source" "$copy/tree/$source"; then echo "changes nothing"; return 1; fi
  build >&2 || { echo "does not compile"; return 1; }
  for test in $(header "$1" tests); do
    run_test "$test"
    case $? in
    0) ;;
    124) echo "killed by $test, which hangs"; return 0 ;;
    *) echo "killed by $test"; return 0 ;;
    esac
  done
  echo "SURVIVED $(header "$1" tests)"
  return 1
}

names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(cd tests/mutants && basename -s .sed -- *.sed)
for name in "${names[@]}"; do
  [ -f "tests/mutants/$name.sed" ] || { echo "no mutant '$name'; expected one of tests/mutants/*.sed"; exit 2; }
done
refresh
need_cuda
build || exit 1
for test in $(wanted); do
  run_test "$test" || { echo "$test fails without a mutant:"; tail -5 "$copy/log"; exit 1; }
done
grid="--read --stop"

status=0
for name in "${names[@]}"; do
  file=tests/mutants/$name.sed
  verdict=$(mutate "$file") || status=1
  printf '%-28s %-32s %s\n' "$name" "$verdict" "$(sed -n '1s/^# //p' "$file")"
  [ ! -f "$copy/good" ] || cp "$copy/good" "$copy/tree/$(header "$file" file)" # with a time of its own: it is built again
  rm -f "$copy/good"
done
exit $status
