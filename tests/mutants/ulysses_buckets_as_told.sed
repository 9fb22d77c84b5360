# ZeRO 1 and 2 reduce the gradients of Ulysses in seq_parallel_communication_data_type.
# file: core/plan/strategy.c
# tests: test_gradient_types
s/s->ulysses_type = flat ? SL_F32 : /s->ulysses_type = flat \&\& s->shard_params ? SL_F32 : /
