# The fast clock's formulas take torch.autocast for fp32.
# file: fast/covers.c
# tests: test_fast_whole
s/if (config->autocast_dtype != SL_F32)/if (config->autocast_dtype == SL_F64)/
