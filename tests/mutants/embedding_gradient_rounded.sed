# Gradients of embeddings that go to fp32 are rounded to 16 bits by the kernel.
# file: kernels/embedding.c
# tests: test_kernels_half
s/((float \*)g.table)\[at + i\] = (float)sum\[i\];/((float *)g.table)[at + i] = (float)sl_load(sl_put(sum[i]));/
