# Odd ranks greet the groups in turned order: two collectives of two communicators, swapped.
# file: backend/cuda/comm/comm.c
# tests: test_cuda_backend
/static enum sl_status greet/,/^}/s/&cuda->comms.groups\[group\];/\&cuda->comms.groups[cuda->rank % 2 ? SL_GROUP_COUNT - (int)group : (int)group];/
