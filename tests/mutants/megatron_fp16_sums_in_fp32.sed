# --fp16 sums gradients in fp32, though nothing asks for it.
# file: core/interop/megatron.c
# tests: test_megatron
s/const bool fp16 = sl_arguments_has(a, "fp16") \&\& /const bool fp16 = sl_arguments_has(a, "fp16") \&\& sl_arguments_has(a, "bf16") \&\& /
