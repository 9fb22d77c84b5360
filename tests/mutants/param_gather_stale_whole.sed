# Parameters that other ranks have updated pass for whole between steps.
# file: core/lower/zero.c
# tests: test_param_gather
s/overlap_param_gather ? SL_FORM_SHARD_IN_FLAT :/overlap_param_gather \&\& false ? SL_FORM_SHARD_IN_FLAT :/
