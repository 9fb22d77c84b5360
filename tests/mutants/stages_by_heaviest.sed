# By parameters, too, the heaviest stage alone counts.
# file: core/plan/stages.c
# tests: test_stages
s/by == SL_STAGES_PARAMETERS ? c->lightest : 0/(by == SL_STAGES_PARAMETERS) * 0 * c->lightest/
