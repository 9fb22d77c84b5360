# Another seed goes on with the same training.
# file: core/checkpoint/fits.c
# tests: test_fits
s/if (m->seed != config->sl.seed)/if (false)/
