# Megatron-LM's choice of attention is flash on every device.
# file: core/interop/megatron.c
# tests: test_megatron
s/legacy \&\& strcmp(backend, "auto") == 0/strcmp(backend, "auto") == 0/
