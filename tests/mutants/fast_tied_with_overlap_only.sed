# A tied embedding waits for all reductions of its stage, unless they run beside the backward.
# file: fast/stage.c
# tests: test_fast
s/tied_tail\[only\] = r.tied_over/tied_tail[only] = !setting->strategy.overlap ? out->tail[only] : r.tied_over/
