#!/usr/bin/env bash
# Draw a picture again from its table, in the style of all pictures (analysis/style.gp); nothing is run.
# usage: experiments/draw.sh SCRIPT.gp FOLDER [NAME...]     FOLDER has the table that SCRIPT reads, and gets NAME.svg and NAME.png
# NAME: what the script is called, unless given. The gnuplot is that of PATH's absolute folders, and never one in FOLDER.
set -euo pipefail
usage="usage: draw.sh SCRIPT.gp FOLDER [NAME...]"
script=$(realpath "${1:?$usage}")
folder=$(realpath "${2:?$usage}")
shift 2
style=$(cd "$(dirname "$0")/.." && pwd)/analysis/style.gp
[ $# -gt 0 ] || set -- "$(basename "$script" .gp)"

gnuplot=
IFS=: read -ra places <<<"$PATH"
for place in "${places[@]}"; do
  [[ $place = /* && -x $place/gnuplot && "$(realpath "$place")" != "$folder" ]] || continue
  gnuplot=$place/gnuplot
  break
done
[ -n "$gnuplot" ] || { echo "draw.sh: gnuplot is not on PATH: install gnuplot-nox, then draw.sh $script $folder $*" >&2; exit 3; }
for name in "$@"; do
  for kind in svg png; do # gnuplot would write through a link
    [ ! -L "$folder/$name.$kind" ] || rm -f "$folder/$name.$kind"
  done
done
cd "$folder"
"$gnuplot" -c "$script" "$style" "$@"
