# A thread of the host begins an op when it is issued, not when what it waits for is over.
# file: backend/cuda/helpers.c
# tests: test_cuda_offload
s/SL_CUDA_TRY(cudaLaunchHostFunc(stream, tell, lane));/tell(lane);/
