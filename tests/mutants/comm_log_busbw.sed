# The bus bandwidth of an all_reduce is that of one half of it.
# file: core/run/comm_log.c
# tests: test_watched_ops
s/2 \* share/share/
