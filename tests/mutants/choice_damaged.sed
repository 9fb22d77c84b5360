# A line of choices counts whatever its hash says.
# file: backend/cuda/choices.c
# tests: test_cuda_choices
s/return memcmp(told, &hash, sizeof hash) == 0;/return memcmp(told, \&hash, 0) == 0;/
