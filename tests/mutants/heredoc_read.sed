# The lines of a heredoc are arguments.
# file: core/interop/shell.c
# tests: test_megatron test_shell
s/!open \&\& pass_heredoc(r)/false \&\& pass_heredoc(r)/
