# Stage 3 keeps small parameters whole and forgets to gather them after the update.
# file: core/lower/update.c
# tests: grid3d_2 golden_2
s/return sl_gather_persistent(l, p, SL_PHASE_STEP)/return SL_OK/
