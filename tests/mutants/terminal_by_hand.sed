# The variable of a launcher that has a terminal is believed of a user.
# file: cli/main.c
# tests: test_cli_measure
/unsetenv(sl_progress_terminal)/s/unsetenv(sl_progress_terminal)/(void)0/
