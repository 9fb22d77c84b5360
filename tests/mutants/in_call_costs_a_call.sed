# A transfer by userbuffers costs the host as much as a call of NCCL.
# file: cost/collective.c
# tests: test_sim_cost
/if (sl_work_in_call(work)) return/d
