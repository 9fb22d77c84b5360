# Each job times its epilogues again.
# file: backend/cuda/fastest.c
# tests: test_cuda_backend
s/  if (!made) {/  if (made || !made) {/
