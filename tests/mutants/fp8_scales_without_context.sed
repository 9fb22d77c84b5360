# Ranks that share sequences agree on scales only where there is data parallelism beside.
# file: core/lower/scaling.c
# tests: grid3d_fp8_2 grid3d_fp8_4
s/agree(l, p, SL_GROUP_DP, l->plan->dp_cp)/agree(l, p, SL_GROUP_DP, l->plan->dp)/
