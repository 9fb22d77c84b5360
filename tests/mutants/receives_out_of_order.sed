# Ranks are played without regard to what is ready: receives stand in an order of their own.
# file: core/schedule/passes.c
# tests: grid3d_2 grid3d_3 grid3d_4
/if (a->kind == SL_ACTION_FORWARD && a->stage > 0)$/{n;s/return .*/return true;/}
