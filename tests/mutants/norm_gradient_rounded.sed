# Gradients of norms that go to fp32 are rounded to 16 bits by the kernel.
# file: kernels/numbers/real.h
# tests: test_kernels_half
s/\*at = (float)(accumulate ? (double)\*at + sum : sum);/*at = (float)sl_load(sl_put((sl_real)(accumulate ? (double)*at + sum : sum)));/
