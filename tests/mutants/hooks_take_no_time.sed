# The host runs hooks in no time.
# file: cost/compute.c
# tests: test_hooks
s/return costs->host_hook \* (double)work->dim\[3\]/return 0/
