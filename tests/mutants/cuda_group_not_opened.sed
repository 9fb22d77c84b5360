# The calls of a collective are no group.
# file: backend/cuda/comm/collect.c
# tests: test_cuda_backend
/SL_NCCL_TRY(ncclGroupStart());/d
