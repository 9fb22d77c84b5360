# Of Megatron-LM's sums of gradients in fp32 nothing is said, though fp16 reads as fp16.
# file: core/interop/accelerate_write.c
# tests: test_written
s/status = json_equal(is, other) ? SL_OK/status = json_equal(is, other) || is != NULL ? SL_OK/
