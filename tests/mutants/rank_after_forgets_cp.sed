# The rank after the last of tp is that of the next dp, whatever cp is.
# file: core/plan/coords.c
# tests: test_rank_order
s/count_up(&at->cp, plan->cp) || count_up(&at->dp, plan->dp)/count_up(\&at->dp, plan->dp)/
