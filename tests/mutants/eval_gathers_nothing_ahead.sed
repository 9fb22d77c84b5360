# An evaluation takes the gathers of the step before it for its own (overlap_param_gather).
# file: core/lower/step.c
# tests: test_param_gather
s/  sl_ahead_begin(l);//
