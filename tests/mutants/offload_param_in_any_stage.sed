# Parameters are offloaded below ZeRO stage 3, where DeepSpeed does not look at offload_param.
# file: core/config/check.c
# tests: test_config_errors
/config->zero.offload_param = SL_OFFLOAD_NONE;/d
