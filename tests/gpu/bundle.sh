#!/usr/bin/env bash
# Packs what a bare x86-64 machine with an NVIDIA GPU needs to run ./dev gpu: our programs and modules, the few libraries
# that such a machine may lack (jansson, OpenMP's runtime), inputs, scripts, and the losses of the host backend to be
# equalled. CUDA, cuBLAS and NCCL are not in it: they are found there. usage: bundle.sh [ARCHIVE.tar.gz]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
archive=${1:-$root/out/bundle.tar.gz}
build=$root/build/bundle
stage=$build/shardlab
limit=$((40 << 20))

# An RPATH, not a RUNPATH: it holds for what libraries need too, so that programs find all of lib/ when started by hand.
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSL_NATIVE=OFF \
  -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags >/dev/null
cmake --build "$build" -j "$(nproc)" --target shardlab shardlab-analyze shardlab_cuda test_cuda_kernels \
  test_cuda_attention test_cuda_control
rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/lib" "$stage/tests" "$stage/experiments" "$(dirname "$archive")"
cp "$build"/bin/{shardlab,shardlab-analyze,test_cuda_kernels,test_cuda_attention,test_cuda_control} "$stage/bin/"
cp "$build"/lib/libshardlab_{core,cuda}.so "$stage/lib/"
ldd "$stage"/bin/* "$stage"/lib/*.so |
  awk '/lib(jansson|gomp|cmocka|gsl|gslcblas|blas)\.so/ { print $3 }' | sort -u | xargs -I{} cp -L {} "$stage/lib/"
strip --strip-debug "$stage"/bin/* "$stage"/lib/*
cp -r "$root/examples" "$root/dev" "$stage/"
mkdir -p "$stage/tests/golden"
cp -r "$root/tests/gpu" "$root/tests/peers" "$stage/tests/"
cp -r "$root"/tests/golden/{gpt2_odd,llama_odd,mlp} "$stage/tests/golden/"
cp -r "$root/experiments/validate_gpu" "$root/experiments/memory_vs_stage" "$stage/experiments/"

# What one rank of the host backend computes, by the program just built: losses and gradients that the GPU must equal.
mkdir -p "$stage/reference"
cmake --build "$build" -j "$(nproc)" --target shardlab_host
"$build/bin/shardlab" measure --model gpt2-tiny --config "$root/examples/ds_zero0.json" --data "$root/examples/corpus.txt" \
  --world 1 --steps 20 --quiet --cluster h200x1 --json "$stage/reference/gpt2-tiny.json" \
  --save-grads "$stage/reference/gpt2-tiny.safetensors"
{
  date -u +%Y-%m-%d
  git -C "$root" rev-parse HEAD
  "$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")" --version | tail -2
  echo "needs $(objdump -T "$stage"/bin/* "$stage"/lib/* | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -1)"
} >"$stage/VERSION"
tar -C "$build" -czf "$archive" shardlab
bytes=$(stat -c %s "$archive")
echo "$archive: $bytes bytes"
[ "$bytes" -lt "$limit" ] || { echo "bundle: larger than $limit bytes" >&2; exit 1; }
