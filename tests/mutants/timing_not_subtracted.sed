# The time of events around an op stays in the points of a GPU.
# file: analysis/fit_timing.c
# tests: test_fit_gpu
s/seconds - overhead) : seconds/seconds - 0 * overhead) : seconds/
