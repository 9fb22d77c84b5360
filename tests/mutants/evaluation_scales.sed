# The largest magnitudes of an evaluation count in the next step's scales.
# file: core/lower/step.c
# tests: test_cli_evaluate
s/SL_TRY(sl_scaling_forget(l, p, SL_PHASE_STEP));/(void)sl_scaling_forget;/
