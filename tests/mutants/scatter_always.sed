# ZeRO-1 reduce-scatters, whatever "reduce_scatter" says.
# file: core/plan/strategy.c
# tests: test_config_effect
s|(!config->zero.reduce_scatter .. config->zero.multi_rank_allreduce)|config->zero.multi_rank_allreduce|
