# An autotp_size of 0 asks for AutoTP.
# file: core/config/parallel.c
# tests: test_cli
s/{SL_AUTOTP_SIZE, 1}/{SL_AUTOTP_SIZE, 0}/
