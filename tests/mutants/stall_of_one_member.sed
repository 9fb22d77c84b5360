# A call stalls its host as long for eight members as for one.
# file: cost/collective.c
# tests: test_sim_host
s/rank->pipeline_stall \* work->members \* stalls/rank->pipeline_stall * stalls/
