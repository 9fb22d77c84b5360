# DeepSpeed's pipeline engine keeps the logits of one micro-batch.
# file: core/plan/kernel_rows.h
# tests: test_kernel_set_rows
s/      48,   23,      12,     0/      48,   23,      8,      0/
