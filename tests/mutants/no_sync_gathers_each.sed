# Under no_sync FSDP's SHARD_GRAD_OP gathers for every micro-batch.
# file: core/plan/strategy.c
# tests: test_hybrid_traffic
/s->gathers_once = /d
