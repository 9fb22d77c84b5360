# A kernel set that gathers logits keeps them cut.
# file: core/models/ends.c
# tests: test_kernel_sets
s/->gathers_logits && g->tp > 1;/->gathers_logits \&\& g->tp > 99;/
