# A copy between a CPU's memories is predicted to be over when its bytes are there, however slow the link is.
# file: sim/lanes.c
# tests: test_sim_offload
s/copied > carried ? copied : carried/copied > carried ? copied : copied/
