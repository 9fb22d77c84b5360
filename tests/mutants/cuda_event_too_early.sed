# An op's event is recorded in front of it.
# file: backend/cuda/put.c
# tests: test_cuda_offload
/SL_TRY(put_op(cuda, stream, it));/{
h
d
}
/SL_CUDA_TRY(cudaEventRecord(cuda->events\[plan->event_of\[i\]\], stream));/G
