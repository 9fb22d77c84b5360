# What an interactive shell of Slurm starts takes itself for one of the job's tasks.
# file: core/base/launchers.c
# tests: test_cuda_place
s/ && strtoul(step, NULL, 10) <= LAST_STEP ?/ ?/
