#!/usr/bin/env bash
# Is a bundle whole? Unpacked into an empty root that has nothing but libc's libraries and stubs of the driver, cuBLASLt and
# NCCL, every program and module must find what it needs, `predict` must predict, and the backend's module must load and get as
# far as the driver. Exit status 77 where no such root can be had. usage: check_bundle.sh ARCHIVE.tar.gz [SONAME...]: what else
# that root is to hold.
set -euo pipefail
archive=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
empty=$scratch/root
here=$(cd "$(dirname "$0")" && pwd)
fail() {
  echo "check_bundle: $*" >&2
  exit 1
}
inside() { unshare -r chroot "$empty" /lib64/ld-linux-x86-64.so.2 "$@"; }

mkdir -p "$empty/lib64" "$empty/stubs" "$empty/tmp"
tar -C "$empty" -xzf "$archive"
for name in libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 "$@"; do
  file=$(cc -print-file-name="$name")
  [ -e "$file" ] || fail "there is no $name here"
  cp -L "$file" "$empty/lib64/"
done
cp -L /lib64/ld-linux-x86-64.so.2 "$empty/lib64/"
"$here/stubs.sh" "$empty/stubs" "$empty/shardlab/lib/libshardlab_cuda.so"
inside --list /lib64/libc.so.6 >/dev/null 2>&1 || { echo "no root of one's own can be had here" && exit 77; }

files=0
for file in "$empty"/shardlab/bin/* "$empty"/shardlab/lib/*; do
  path=${file#"$empty"}
  said=$(inside --library-path /shardlab/lib:/lib64:/stubs --list "$path" 2>&1) || fail "$path: $said"
  [[ $said != *"not found"* ]] || fail "$path: $said"
  files=$((files + 1))
done
[ "$files" -gt 8 ] || fail "only $files programs and libraries"

shardlab() { LD_LIBRARY_PATH=/shardlab/lib:/lib64:/stubs inside /shardlab/bin/shardlab "$@" 2>&1; }
said=$(shardlab predict --model gpt2 --config /shardlab/examples/ds_zero1.json --cluster h200x1 --quiet \
  --json /tmp/record.json) || fail "predict: $said"
grep -q '"step_time_s"' "$empty/tmp/record.json" || fail "predict wrote no record"
said=$(shardlab backends) || fail "backends: $said"
[[ $said =~ "cuda backend   absent   backend cuda: no NVIDIA GPU can be used here: "[^$'\n']*driver ]] ||
  fail "the module was not loaded: $said"
for need in "glibc " "cuda " "capability " "library libcublasLt.so" "library libnccl.so" "symbol libnccl.so.2 ncclCommSplit"; do
  grep -q "^$need" "$empty/shardlab/NEEDS" || fail "NEEDS does not name $need"
done
echo "$files programs and libraries find what they need"
