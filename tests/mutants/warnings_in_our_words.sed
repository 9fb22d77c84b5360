# Warnings about what was made of another framework's file are in our words.
# file: cli/import.c
# tests: test_cli_accelerate
s/reworded ? text : message/reworded ? message : message/
