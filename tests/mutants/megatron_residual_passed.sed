# --fp32-residual-connection is without effect.
# file: core/interop/megatron_refused.c
# tests: test_megatron_names
/"fp32-residual-connection"/d
