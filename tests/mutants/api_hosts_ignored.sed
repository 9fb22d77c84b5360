# A prediction in the caller's process does not read --hostfile.
# file: api/shardlab.c
# tests: test_api
s/^  SL_TRY(sl_pool_apply(&options, sl_command_predict.bit));$//
