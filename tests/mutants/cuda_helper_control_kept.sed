# What a norm on the CPU adds to the control block does not come back to the device.
# file: backend/cuda/helpers.c
# tests: test_cuda_offload
s/\[at\]\.access != SL_READ)/[at].access == SL_READ)/
