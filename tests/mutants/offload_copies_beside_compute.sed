# Compute does not wait for copies of sums without overlap_comm.
# file: core/lower/host_sum.c
# tests: test_host_sum
/SL_OP_BLOCKING/d
