# --use-flash-attn-v2 of DeepSpeed's fork does nothing.
# file: core/interop/megatron.c
# tests: test_megatron
s/"use-flash-attn-v2",/"",/
