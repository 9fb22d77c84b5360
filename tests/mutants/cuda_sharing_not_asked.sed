# A newer NCCL is not told that ranks share a GPU.
# file: backend/cuda/comm/comm.c
# tests: test_cuda_backend
s/set_default("NCCL_MULTI_RANK_GPU_ENABLE", "1");/;/
