# The gradient of the only key head's norm is not summed over the ranks that have its queries.
# file: core/plan/layout.c
# tests: families_olmo2_one_key
s/ (by_head || sl_model_shares_key_head(plan->model))/ by_head/
