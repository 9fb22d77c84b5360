# The report of a simulation does not wait for what an allocator reserves.
# file: sim/sim.c
# tests: test_sim_job
s/  SL_TRY(sl_parallel_join(sim->job->reserving));//
