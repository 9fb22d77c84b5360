# torch.autocast without a type casts to bf16.
# file: core/config/config.c
# tests: test_config_parallel
s/enum sl_dtype type = SL_F16;/enum sl_dtype type = SL_BF16;/
