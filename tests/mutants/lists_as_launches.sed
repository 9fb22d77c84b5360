# The host takes a kernel's launch for a whole list of tensors.
# file: cost/compute.c
# tests: test_sim_host
s/return pieces > 0 ?/return pieces < 0 ?/
