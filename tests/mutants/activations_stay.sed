# What recomputed blocks keep of their inputs stays on the device.
# file: core/models/saved_input.c
# tests: test_offload_train
s/  if (on_host(g)) sl_build_move(l, \*kept, SL_SPACE_HOST);//
