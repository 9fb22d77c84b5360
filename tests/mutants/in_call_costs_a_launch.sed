# A kernel that C++ launches costs the host as much as the call of a module.
# file: cost/compute.c
# tests: test_sim_cost
s/: sl_work_in_call(work);/: 0;/
