# I, unlike B, sends no gradient to the stage before.
# file: core/schedule/passes.c
# tests: grid3d_2 grid3d_4
s/return kind == SL_ACTION_BACKWARD || kind == SL_ACTION_BACKWARD_INPUT;/return kind == SL_ACTION_BACKWARD;/
