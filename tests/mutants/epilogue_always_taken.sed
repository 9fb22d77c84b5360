# An epilogue is taken although a kernel of its own is faster.
# file: backend/cuda/fastest.c
# tests: test_cuda_backend
s/e->apart = kept == 1;/e->apart = false;/
