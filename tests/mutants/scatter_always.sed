# ZeRO-1 reduce-scatters, whatever "reduce_scatter" says.
# file: core/plan/strategy.c
# tests: test_config_effect
s/((preset.family \& SL_FAMILY_DEEPSPEED) \&\& !config->zero.reduce_scatter) ||/(preset.family == 0 \&\& !config->zero.reduce_scatter) ||/
