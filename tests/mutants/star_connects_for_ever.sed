# A call to rank 0 waits as long as the kernel does.
# file: backend/cuda/comm/rendezvous.c
# tests: test_cuda_star
s/SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);/SOCK_STREAM | SOCK_CLOEXEC, 0);/
