# BigCode's multi-query attention has a key head a query head.
# file: core/interop/megatron_model.c
# tests: test_megatron
s/s->groups = grouped || one ? 1 : s->heads;/s->groups = grouped \&\& !one ? 1 : s->heads;/
