# limit_all_gathers, which is FSDP's, acts under any preset.
# file: core/plan/strategy.c
# tests: test_hybrid_traffic
s/fsdp \&\& !config/!config/
