# Copies of checkpointed inputs run beside the compute of DeepSpeed.
# file: core/models/saved_input.c
# tests: test_kernel_set_attention
s/return on_host(g) \&\& !ours ?/return on_host(g) \&\& ours \&\& !ours ?/
