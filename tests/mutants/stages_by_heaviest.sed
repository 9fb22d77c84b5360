# By parameters, too, the heaviest stage alone counts.
# file: core/plan/stages.c
# tests: test_stages
s/if (by == SL_STAGES_PARAMETERS) return/if (by == SL_STAGES_PARAMETERS \&\& a == b) return/
