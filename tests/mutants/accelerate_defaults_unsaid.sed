# Nothing is said of Accelerate's odd defaults.
# file: core/interop/accelerate.c
# tests: test_accelerate_megatron
s/^  say_megatron_defaults(a);$/  if (a->world == 0) say_megatron_defaults(a);/
