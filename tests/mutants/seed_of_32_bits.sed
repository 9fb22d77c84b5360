# Random numbers know the lower 32 bits of the seed.
# file: backend/common/streams.h
# tests: test_cli_seeds
s/stream ^ (uint32_t)(seed >> 32), step/stream, step/
