# Random samples know the lower 32 bits of the seed.
# file: backend/common/input.c
# tests: test_cli_seeds
s/sl_stream_key(input->plan->config->sl.seed,/sl_stream_key((uint32_t)input->plan->config->sl.seed,/
