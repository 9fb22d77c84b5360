# --num-key-value-heads of DeepSpeed's fork does nothing.
# file: core/interop/megatron_model.c
# tests: test_megatron
s/  if (sl_arguments_has(a, fork)) SL_TRY.*//
