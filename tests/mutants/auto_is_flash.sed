# Megatron-LM's choice of attention is flash on every device.
# file: core/interop/megatron.c
# tests: test_megatron
s/older ? "flash" : words/true ? "flash" : words/
