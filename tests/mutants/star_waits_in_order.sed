# Rank 0 waits for what a late rank sends, whatever the others say meanwhile.
# file: backend/cuda/comm/rendezvous.c
# tests: test_cuda_star
s/for (int i = 1; i < star->world; i++) SL_TRY(watch_socket/for (int i = 1; i < 0; i++) SL_TRY(watch_socket/
