# What comes in takes of what goes out.
# file: sim/contention.c
# tests: test_sim_contention
s/return (local \* SL_MAX_LINKS + level) \* WAYS + way;/return (local * SL_MAX_LINKS + level) * WAYS + way * 0;/
