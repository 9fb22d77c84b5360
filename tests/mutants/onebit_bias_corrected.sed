# 1-bit Adam corrects its moments' bias where the configuration says so, as AdamW does.
# file: core/config/config.c
# tests: onebit_3
s|config->optimizer.bias_correction = false;|config->optimizer.bias_correction = sl_config_flag(reader->config, "optimizer.params.bias_correction", true);|
