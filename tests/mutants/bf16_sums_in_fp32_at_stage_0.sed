# DeepSpeed 0.17.6 and later still add up the gradients of bf16 without ZeRO in fp32.
# file: core/config/config.c
# tests: test_gradient_types
s/ && !sl_config_since(config, 0, 17, 6);/;/
