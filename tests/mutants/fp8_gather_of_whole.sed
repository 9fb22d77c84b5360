# Parameters in fp8 are gathered without an optimizer that shards them.
# file: core/plan/refusals.c
# tests: test_fp8_weights
s/(!c->sl.overlap_param_gather \&\& !fp8)/(!c->sl.overlap_param_gather || fp8)/
