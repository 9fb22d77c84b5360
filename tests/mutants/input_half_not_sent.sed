# I, unlike B, sends no gradient to the stage before.
# file: core/schedule/passes.c
# tests: grid3d_2 grid3d_4
s/sl_action_is_backward(a->kind)/(a->kind == SL_ACTION_BACKWARD)/
