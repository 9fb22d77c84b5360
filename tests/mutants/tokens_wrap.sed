# The tokens of a micro-batch wrap before they are compared with their limit.
# file: core/plan/bounds.c
# tests: test_limits
s/sl_product(plan->micro_batch, plan->seq), SL_MAX/(int64_t)((uint64_t)plan->micro_batch * (uint64_t)plan->seq), SL_MAX/
