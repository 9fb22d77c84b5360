# What an interactive shell of Slurm starts takes itself for one of the job's tasks.
# file: core/base/launchers.c
# tests: test_cuda_place
s/<= LAST_STEP ?/<= 16 * LAST_STEP ?/
