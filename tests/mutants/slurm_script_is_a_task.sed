# What a script of Slurm starts takes itself for one of the job's tasks.
# file: core/base/launchers.c
# tests: test_cuda_place test_cli_defaults
s/value_of("SLURM_STEP_ID") : "0"/"0" : "0"/
