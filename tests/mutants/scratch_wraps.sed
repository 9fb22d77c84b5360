# Scratch by thread wraps.
# file: core/op/workspace.c
# tests: test_limits
s/sl_product(threads, 4 \* floats)/(int64_t)((uint64_t)threads * 4 * (uint64_t)floats)/
