# --group-query-attention without --num-query-groups has a group a head.
# file: core/interop/megatron_model.c
# tests: test_megatron
s/grouped || one ? 1 : s->heads/one ? 1 : s->heads/
