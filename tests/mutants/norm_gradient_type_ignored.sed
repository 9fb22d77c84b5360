# The kernels of norms take fp32 gradients for 16-bit ones.
# file: backend/host/dispatch.c
# tests: test_dispatch
s/c->dtype\[SL_AT_DWEIGHT\] == SL_F32/0/
