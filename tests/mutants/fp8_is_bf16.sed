# Products in fp8 are made, and cost, as bf16.
# file: core/config/values.c
# tests: test_config_parallel
s/return SL_F8;/return SL_BF16;/
