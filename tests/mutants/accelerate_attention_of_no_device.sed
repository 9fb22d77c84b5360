# What Transformer Engine chooses is taken to be the same on every device.
# file: cli/export_config.c
# tests: test_cli_accelerate
s/^  sl_plan_choose_attention(&config, &setup->cluster);$/  config.sl.attention = SL_ATTENTION_CUDNN;/
