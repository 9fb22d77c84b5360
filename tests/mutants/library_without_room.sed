# Libraries are loaded to be looked at where they have no room.
# file: cli/backends.c
# tests: test_cli_truths
s/sl_environment_library(name, room, /sl_environment_library(name, 1, /
