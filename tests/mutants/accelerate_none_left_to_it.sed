# No recomputation is left to Accelerate, whose default is full.
# file: core/interop/accelerate_write.c
# tests: test_written interop_property
s/full ? "uniform" : "block", full ? 1 : 0/"uniform", 1/
