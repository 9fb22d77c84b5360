# Every event is waited for by the compute lane.
# file: backend/cuda/put.c
# tests: test_cuda_backend
s/cudaStreamWaitEvent(stream, /cudaStreamWaitEvent(cuda->lanes[SL_LANE_COMPUTE], /
