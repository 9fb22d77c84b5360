# One rank of context parallelism is left to Accelerate, whose default is 2.
# file: core/interop/accelerate_write.c
# tests: test_written interop_property
s/(long long)(cp > 1 ? cp : 1)/(long long)(cp > 1 ? cp : 2)/
