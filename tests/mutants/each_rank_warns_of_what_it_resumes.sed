# Each rank warns of the checkpoint that it resumes from, and so has the launcher.
# file: cli/measure.c
# tests: test_cli_checkpoint
s/  if (told) sl_warn_set_sink(sl_warn_drop, NULL);//
