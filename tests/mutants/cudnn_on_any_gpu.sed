# Transformer Engine takes cuDNN's attention on every GPU.
# file: core/plan/plan.c
# tests: test_kernel_set_attention
s/ \&\& cluster->device.compute_capability >= cudnn_from//
