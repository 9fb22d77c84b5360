#!/usr/bin/env bash
# GPT-3 175B on 96 to 4608 H100: predicted beside what was published.
# usage: experiments/scaling_strong/run.sh [OUT]     (after ./dev build; python3 and gnuplot)
exec "$(dirname "$0")/../published/scaling/run.sh" scaling_strong "$@"
