# A whole number of Megatron-LM's arguments is shown as 2.0.
# file: core/interop/arguments.c
# tests: test_cli
s/if (json_is_number(written) \&\& /if (false \&\& /
