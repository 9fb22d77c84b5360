# Gathers in fp8 are read without the distributed optimizer that they are of.
# file: core/interop/megatron_fp8.c
# tests: test_megatron
s/gathers \&\& !sl_arguments_has(a, "use-distributed-optimizer")/false/
