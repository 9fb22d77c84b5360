# A seed that only a shell could tell is replaced for trainings, too.
# file: core/interop/megatron.c
# tests: test_megatron_forks
s/const bool open = seed != SL_MEGATRON_SEED_NEEDED \&\& /const bool open = /
