# Values on their way to the device are overwritten by the next chunk's.
# file: backend/cuda/tensor.c
# tests: test_cuda_backend
/the next chunk uses the same pinned memory/d
