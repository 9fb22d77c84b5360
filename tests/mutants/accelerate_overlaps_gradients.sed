# Accelerate is taken to give --overlap-grad-reduce.
# file: core/interop/accelerate.c
# tests: test_accelerate_megatron interop_property
s/put(a, "zero_optimization.overlap_comm", json_false());/put(a, "zero_optimization.overlap_comm", json_true());/
