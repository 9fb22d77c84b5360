# MiCS offloads its optimizer, which DeepSpeed refuses.
# file: core/plan/strategy.c
# tests: test_strategy
/SL_TRY(sl_strategy_check_replicas/d
