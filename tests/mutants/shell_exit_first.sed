# An exit in front of the training, which a script decides itself, hides the training.
# file: core/interop/shell.c
# tests: test_shell
s/r->program.rank > 0 \&\& sl_shell_conditions_exit/sl_shell_conditions_exit/
