# The second chunk of a sequence starts one token late.
# file: kernels/positions.h
# tests: test_kernels_context
s/: at->first\[1\] + t - at->chunk/: at->first[1] + t + 1 - at->chunk/
