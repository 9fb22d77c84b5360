# --group-query-attention without --num-query-groups has a group a head.
# file: core/interop/megatron_model.c
# tests: test_megatron
s/grouped ? 1 : s->heads/s->heads/
