# The loss of Megatron-LM is counted in both forms.
# file: core/plan/kernels.c
# tests: test_kernel_sets
s/return !config->sl.cross_entropy_loss_fusion/return true/
