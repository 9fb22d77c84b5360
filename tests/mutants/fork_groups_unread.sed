# --num-key-value-heads of DeepSpeed's fork does nothing.
# file: core/interop/megatron_model.c
# tests: test_megatron
s/return sl_arguments_has(a, fork) ? /return sl_arguments_has(a, fork) \&\& s->heads < 0 ? /
