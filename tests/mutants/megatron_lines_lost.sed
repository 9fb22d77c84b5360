# Errors of a script name no line.
# file: core/interop/arguments.c
# tests: test_megatron test_megatron_names
s/if (a->is_script && g != NULL)/if (false)/
