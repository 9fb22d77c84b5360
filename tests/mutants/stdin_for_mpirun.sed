# mpirun has the standard input of the command.
# file: cli/launch.c
# tests: test_cli_mpirun
s/if (nothing >= 0) dup2(nothing, STDIN_FILENO);/if (nothing >= 0 \&\& isatty(STDIN_FILENO)) dup2(nothing, STDIN_FILENO);/
