# The list of valid GPU counts has all numbers, not those that divide the batch.
# file: core/config/elastic.c
# tests: test_config_errors
/if (!divides(e, e->count, batch, gpus)) continue;/d
