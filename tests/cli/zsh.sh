#!/usr/bin/env bash
# What zsh completes, asked of a real one on a terminal: the first word that it is asked for, too.
# usage: zsh.sh SHARDLAB
set -euo pipefail
if ! command -v zsh >/dev/null; then
  echo "skipped: no zsh"
  exit 77
fi
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
"$1" help --completion zsh >"$here/_shardlab"
cat >"$here/session" <<'Z'
zmodload zsh/zpty
zpty session zsh -f -i
zpty -w session "export TERM=dumb; fpath=($here \$fpath); PS1=; autoload -Uz compinit; compinit -u -D; echo re''ady"
zpty -r session seen '*ready*' || exit 1
zpty -w -n session $'shardlab predict --zero-st\t3 --kern\ttorch-c\t'
zpty -r session seen '*torch-compile*' || exit 1
[[ $seen == *--zero-stage* && $seen == *--kernels* ]]
Z
PATH=$(dirname "$1"):$PATH here=$here timeout 20 zsh "$here/session" || { echo "zsh did not complete --zero-st, --kern and torch-c" >&2; exit 1; }
