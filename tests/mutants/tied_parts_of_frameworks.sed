# A tied embedding is summed over the ends of a pipeline in parts, in frameworks too.
# file: core/lower/update.c
# tests: test_one_reduction
s/const bool kept = form == SL_FORM_SHARD_IN_FLAT \&\&/const bool kept = form == SL_FORM_WHOLE \&\&/
