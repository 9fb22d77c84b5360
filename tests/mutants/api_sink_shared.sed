# Warnings of all threads go where the last caller wanted them.
# file: core/base/status.c
# tests: test_api
s/static _Thread_local sl_warn_sink/static sl_warn_sink/
s/static _Thread_local void \*warn_context/static void *warn_context/
