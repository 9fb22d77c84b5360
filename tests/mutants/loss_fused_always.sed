# The loss of Megatron-LM is counted in both forms.
# file: core/plan/kernels.c
# tests: test_kernel_set_rows
s/return !config->sl.cross_entropy_loss_fusion/return true/
