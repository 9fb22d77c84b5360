# A tied embedding waits for all reductions of its stage.
# file: fast/stage.c
# tests: test_fast
s/setting->strategy.overlap || sharded ? /false ? /
