# The first micro-batch stands for those between the first and the last.
# file: fast/whole.c
# tests: test_fast_whole
s/action->micro_batch <= w->micro_batches - 3 + i)/action->micro_batch <= i)/
