# An op's event is recorded in front of it.
# file: backend/cuda/exec.c
# tests: test_cuda_backend
/SL_TRY(sl_cuda_communicates(it->op) ?/{
h
d
}
/SL_CUDA_TRY(cudaEventRecord(cuda->events\[plan->event_of\[i\]\], stream));/G
