# Children that are forked first each read the pipe.
# file: cli/predict.c
# tests: test_cli_flags
/SL_TRY(sl_inputs_keep(options));/d
