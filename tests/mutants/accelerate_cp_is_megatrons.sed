# Without a number of its own context parallelism is none, as in Megatron-LM; Accelerate takes 2.
# file: core/interop/accelerate.c
# tests: test_accelerate_megatron
s/int64_t tp = 1, cp = 2, pp = 1, micro_batches = 1;/int64_t tp = 1, cp = 1, pp = 1, micro_batches = 1;/
