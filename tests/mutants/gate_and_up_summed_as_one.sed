# Gate and up are one module whatever the kernel set says.
# file: core/models/decoder.c
# tests: test_blocking_messages
s/bool apart = sl_kernel_set(t->g.l->plan->config->sl.kernels)->sums_apart;/bool apart = x < 0;/
