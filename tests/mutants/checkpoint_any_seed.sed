# Another seed goes on with the same training.
# file: core/checkpoint/load.c
# tests: test_checkpoint
s/if (m->seed != config->sl.seed)/if (false)/
