# The host runs ahead though launches block.
# file: sim/ahead.h
# tests: test_sim_host
s/kernel_costs.launch_blocking \&\&/kernel_costs.launch_blocking \&\& false \&\&/
