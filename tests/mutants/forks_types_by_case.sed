# Types of layers are found by the case of their letters.
# file: core/interop/megatron_stages.c
# tests: test_megatron_forks
s/ | REG_ICASE//
