# Micro-batches share one piece of pinned memory, while copies from it are still to come.
# file: backend/cuda/tensor.c
# tests: test_cuda_backend
s/cuda->staged += sl_aligned(it/cuda->staged += 0 * sl_aligned(it/
