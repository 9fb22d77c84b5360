# The host runs ahead though launches block.
# file: sim/lanes.c
# tests: test_sim_host
s/kernel_costs.launch_blocking \&\&/kernel_costs.launch_blocking \&\& false \&\&/
