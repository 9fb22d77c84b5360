# Dropout knows the lower 32 bits of the seed.
# file: backend/common/call.c
# tests: test_cli_seeds
s/sl_stream_key(c->rank.plan->config->sl.seed,/sl_stream_key((uint32_t)c->rank.plan->config->sl.seed,/
