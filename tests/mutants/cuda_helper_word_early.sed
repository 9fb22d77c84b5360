# A stream waits for the word of the op before, not for its own: what follows an update begins beside it.
# file: backend/cuda/helpers.c
# tests: test_cuda_offload
s/await(h, stream, it->op->lane, lane->put)/await(h, stream, it->op->lane, lane->put - 1)/
