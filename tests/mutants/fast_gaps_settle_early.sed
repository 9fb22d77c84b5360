# Schedules whose weight gradients fill gaps are extrapolated from as few micro-batches as others.
# file: fast/whole.c
# tests: test_fast_whole
s/LATE = 32 };/LATE = 8 };/
