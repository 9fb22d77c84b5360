#!/usr/bin/env bash
# Megatron-LM's weak scaling on A100 and H100: predicted beside what was published.
# usage: experiments/scaling_weak/run.sh [OUT]     (after ./dev build; python3 and gnuplot)
exec "$(dirname "$0")/../published/scaling/run.sh" scaling_weak "$@"
