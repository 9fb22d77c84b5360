# A resumed run counts its steps anew.
# file: core/checkpoint/restore.c
# tests: test_checkpoint checkpoint_pairs
s/struct sl_step_state state = c->manifest.state, fresh;/struct sl_step_state state = {.hysteresis = c->manifest.state.hysteresis, .loss_scale = 1}, fresh;/
