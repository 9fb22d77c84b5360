# Events are used again before the program's end: one stands for several ops.
# file: backend/cuda/events.c
# tests: test_cuda_backend
s/out->event_of\[issue\] = out->event_count++;/out->event_of[issue] = out->event_count < 3 ? out->event_count++ : (int32_t)(issue % 3);/
