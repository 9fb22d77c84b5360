# torch's ring gathers keys and values as they are, not one for every query head.
# file: core/models/context.c
# tests: test_kernel_set_attention
s/->exchanges_repeated ? g->h : g->g;/->exchanges_repeated ? g->g : g->g;/
