# An unpacked bundle whose GPU is a stand-in that takes time and computes nothing, in $here/shardlab; sourced by the tests of
# ./dev gpu, which are called with SHARDLAB SHARDLAB_ANALYZE LIBSHARDLAB_CORE STAND_IN_MODULE and the folder of the emulated
# kernels' tests.
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$(mktemp -d)
trap 'rm -rf "$here" /dev/shm/shardlab-stand-in-$$-*' EXIT
bundle=$here/shardlab
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/tests" "$bundle/experiments" "$bundle/analysis" "$here/path"
cp "$1" "$2" "$bundle/bin/"
cp "$3" "$4" "$bundle/lib/"
cp -r "$root/dev" "$root/examples" "$bundle/"
cp -r "$root/tests/gpu" "$root/tests/golden" "$bundle/tests/"
cp -r "$root/experiments/validate_gpu" "$root/experiments/memory_vs_stage" "$root/experiments/draw.sh" "$bundle/experiments/"
cp "$root/analysis/style.gp" "$bundle/analysis/"
printf '%s\n' "glibc 2.17" "cuda 13.0" "capability 8.0" "library libcublasLt.so.13" "library libnccl.so.2" >"$bundle/NEEDS"
printf '2026-01-01\n%040d\n' 7 >"$bundle/VERSION"
"$root/tests/gpu/stubs.sh" "$here/stubs" "$bundle/lib/libshardlab_cuda.so"
printf '#!/bin/sh\necho 80000\n' >"$here/path/nvidia-smi" # MiB free
chmod +x "$here/path/nvidia-smi"
PATH=$here/path:$PATH
export PACE=3 # emulated kernels on a busy machine
export LD_LIBRARY_PATH=$here/stubs SHARDLAB_STAND_IN=/shardlab-stand-in-$$ SHARDLAB_STAND_IN_IDLE=2
unset OUT STAGES PART_S

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

verdicts() { # FOLDER "STAGE VERDICT"...: of exactly these stages, in this order
  local folder=$here/$1
  shift
  [ "$(cut -f1,2 --output-delimiter=' ' "$folder/stages.tsv")" = "$(printf '%s\n' "$@")" ] ||
    fail "stages of $folder: $(cat "$folder/stages.tsv" "$folder"/*/log.txt)"
}

archived() { # FOLDER: the archive opens, and holds the table as it stands
  tar -xzOf "$here/$1.tar.gz" "$(basename "$1")/stages.tsv" | cmp - "$here/$1/stages.tsv" || fail "$1.tar.gz is not the whole"
}
