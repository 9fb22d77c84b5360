# A tied embedding waits for all reductions of its stage, unless they run beside the backward.
# file: fast/stage.c
# tests: test_fast
s/r.after > 0 ? out->tail\[only\] :/r.after > 0 || !setting->strategy.overlap ? out->tail[only] :/
