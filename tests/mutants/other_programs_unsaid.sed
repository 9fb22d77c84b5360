# A script that runs a program of another name is predicted without a word.
# file: core/interop/megatron.c
# tests: test_megatron_forks
s/|| (!pretrains \&\& i > 0)) continue;/|| !pretrains) continue;/
