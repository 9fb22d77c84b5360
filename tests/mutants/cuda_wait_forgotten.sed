# The last event that an op waits for is forgotten.
# file: backend/cuda/put.c
# tests: test_cuda_backend
s/w < plan->wait_first\[i + 1\]; w++/w + 1 < plan->wait_first[i + 1]; w++/
