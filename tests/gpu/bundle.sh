#!/usr/bin/env bash
# Packs what a bare x86-64 machine with an NVIDIA GPU needs to run ./dev gpu: our programs and modules, the few libraries
# that such a machine may lack (jansson, liburing, OpenMP's runtime), inputs, scripts, and the losses of the host backend to be
# equalled. CUDA, cuBLAS and NCCL are not in it: they are found there, and NEEDS says what of them (fit.py reads it).
# usage: bundle.sh [--from BUILD] [ARCHIVE.tar.gz]; --from packs what stands in a build folder, instead of building for any
# machine: for tests.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
from=
if [ "${1:-}" = --from ]; then
  from=$(cd "$2" && pwd)
  shift 2
fi
archive=${1:-$root/out/bundle.tar.gz}
build=${from:-$root/build/bundle}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
stage=$scratch/shardlab
limit=32000000
programs=(shardlab shardlab-analyze test_cuda_kernels test_cuda_attention test_cuda_quantize test_cuda_control)

# Kernels bear their source lines, for sanitizers and profilers. An RPATH, not a RUNPATH: it holds for what libraries need too, so
# that programs find all of lib/ when started by hand. Of C++'s library little is used, and that is taken along: a copy of it
# in lib/ would be older than what NCCL there was built with.
make_programs() {
  local own=$build/static flags
  mkdir -p "$own"
  ln -sf "$(c++ -print-file-name=libstdc++.a)" "$own/"
  flags="-Wl,--disable-new-dtags -L$own -static-libgcc"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSL_NATIVE=OFF "-DCMAKE_CUDA_FLAGS=-lineinfo --compress-mode=size" \
    "-DCMAKE_CUDA_ARCHITECTURES=80-real;90" \
    -DCMAKE_EXE_LINKER_FLAGS="$flags" -DCMAKE_MODULE_LINKER_FLAGS="$flags" \
    -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags '-DCMAKE_BUILD_RPATH=$ORIGIN' >/dev/null
  cmake --build "$build" -j "$(nproc)" --target "${programs[@]}" shardlab_cuda shardlab_host
}

own_libraries() { # those that programs and modules need and a bare machine may lack
  ldd "$stage"/bin/* "$stage"/lib/*.so |
    awk '/lib(jansson|yaml-0|pcre2-8|utf8proc|gomp|cmocka|gsl|gslcblas|blas|uring)\.so/ { print $3 }' | sort -u
}

copy_files() {
  local name
  mkdir -p "$stage/bin" "$stage/lib" "$stage/tests/golden" "$stage/experiments" "$stage/analysis"
  for name in "${programs[@]}"; do cp "$build/bin/$name" "$stage/bin/"; done
  cp "$build"/lib/libshardlab_{core,cuda}.so "$stage/lib/"
  own_libraries | xargs -I{} cp -L {} "$stage/lib/"
  strip --strip-debug "$stage"/bin/* "$stage"/lib/*
  cp -r "$root/examples" "$root/dev" "$stage/"
  cp -r "$root/tests/gpu" "$root/tests/peers" "$stage/tests/"
  find "$stage/tests" -name __pycache__ -prune -exec rm -rf {} +
  cp -r "$root"/tests/golden/{gpt2_odd,llama_odd,mlp} "$stage/tests/golden/"
  cp -r "$root/experiments/validate_gpu" "$root/experiments/memory_vs_stage" "$root/experiments/draw.sh" "$stage/experiments/"
  cp "$root/analysis/style.gp" "$stage/analysis/"
}

# What one rank of the host backend computes, by the program just built: losses and gradients that the GPU must equal.
make_reference() {
  mkdir -p "$stage/reference"
  "$build/bin/shardlab" measure --model gpt2-tiny --config "$root/examples/ds_zero0.json" --data "$root/examples/corpus.txt" \
    --world 1 --steps 20 --quiet --cluster h200x1 --json "$stage/reference/gpt2-tiny.json" \
    --save-grads "$stage/reference/gpt2-tiny.safetensors"
}

nvcc_of_build() { sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt"; }

# The machine's part: its C library, its driver and GPU, and of each library that is not in the bundle its name, and of CUDA's the
# functions that are called.
say_needs() {
  local soname prefix
  echo "glibc $(objdump -T "$stage"/bin/* "$stage"/lib/* | grep -o 'GLIBC_2\.[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -1)"
  echo "cuda $("$(nvcc_of_build)" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')"
  echo "capability 8.0" # cmake/cuda.cmake
  objdump -p "$stage"/bin/* "$stage"/lib/* | awk '$1 == "NEEDED" { print $2 }' | sort -u | while read -r soname; do
    if [[ $soname =~ ^(lib(c|m|dl|rt|pthread)\.so|ld-linux) || -e $stage/lib/$soname ]]; then continue; fi
    echo "library $soname"
    prefix=
    case $soname in libcublasLt*) prefix=cublasLt ;; libnccl*) prefix=nccl ;; esac
    [ -z "$prefix" ] || nm -D --undefined-only "$stage/lib/libshardlab_cuda.so" |
      sed -n "s/^ *U \($prefix[A-Za-z0-9_]*\).*/symbol $soname \1/p"
  done
}

say_version() {
  date -u +%Y-%m-%d
  git -C "$root" rev-parse HEAD
  "$(nvcc_of_build)" --version | tail -2
}

[ -n "$from" ] || make_programs
copy_files
make_reference
say_needs >"$stage/NEEDS"
say_version >"$stage/VERSION"
mkdir -p "$(dirname "$archive")"
tar -C "$scratch" -czf "$archive" shardlab
bytes=$(stat -c %s "$archive")
echo "$archive: $bytes bytes"
[ "$bytes" -le "$limit" ] || { echo "bundle: larger than $limit bytes" >&2; exit 1; }
