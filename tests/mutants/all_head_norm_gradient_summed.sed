# The gradient of a norm over all heads, which every member has whole, is summed over the tp group.
# file: core/plan/layout.c
# tests: families_olmo2
s/    return plan->tp > 1 \&\& by_head;/    return plan->tp > 1;/
