# Gradients go to NVMe with each micro-batch, each over those of the one before.
# file: core/lower/reduce.c
# tests: test_offload test_offload_train
s/bool once = l->plan->n_micro == 1 \&\& /bool once = /
