#!/usr/bin/env bash
# The bundle that ./dev bundle packs, here of what stands in a build folder, is whole; one that lacks a library is not.
# usage: gpu_bundle.sh BUILD
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
"$root/tests/gpu/bundle.sh" --from "$1" "$here/bundle.tar.gz"
# the bundle's own build has these in its programs
"$root/tests/gpu/check_bundle.sh" "$here/bundle.tar.gz" libstdc++.so.6 libgcc_s.so.1
tar -C "$here" -xzf "$here/bundle.tar.gz"
rm "$here/shardlab/lib/libjansson.so.4"
tar -C "$here" -czf "$here/less.tar.gz" shardlab
said=$("$root/tests/gpu/check_bundle.sh" "$here/less.tar.gz" libstdc++.so.6 libgcc_s.so.1 2>&1) && {
  echo "gpu_bundle: a bundle without libjansson is called whole: $said" >&2
  exit 1
}
[[ $said == *libjansson.so.4* ]] || { echo "gpu_bundle: not because of libjansson: $said" >&2 && exit 1; }
