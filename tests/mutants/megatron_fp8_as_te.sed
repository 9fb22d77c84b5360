# Megatron-LM's fp8 has Transformer Engine's default algorithm.
# file: core/interop/megatron_fp8.c
# tests: test_megatron
s/\*algorithm = "most_recent";/*algorithm = "max";/
