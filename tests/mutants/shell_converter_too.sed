# The last command of all is the training.
# file: core/interop/shell_program.c
# tests: test_shell
s/strncmp(slash != NULL ? slash + 1 : word, "pretrain_", 9) == 0/slash != word/
