# The first program starts before the default stream has cleared the arena and copied the scalars.
# file: backend/cuda/open.c
# tests: test_cuda_backend
/lanes do not wait for the default stream, which cleared the arena/d
