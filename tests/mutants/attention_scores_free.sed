# Materialised attention moves its scores for nothing.
# file: cost/compute.c
# tests: test_cost_kernels
s/ + sl_attention_score_bytes(rank, work) \/ rank->memory_bandwidth//
