# The lines of a heredoc are arguments.
# file: core/interop/shell.c
# tests: test_megatron
s/r->opened == NULL && pass_heredoc(r)/false \&\& pass_heredoc(r)/
