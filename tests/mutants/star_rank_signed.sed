# A rank of 2^31 is an index of the list of ranks.
# file: backend/cuda/comm/rendezvous.c
# tests: test_cuda_star
s/hello.rank >= world /(int)hello.rank >= (int)world /
