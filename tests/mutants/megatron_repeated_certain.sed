# An argument that a condition repeats is certain.
# file: core/interop/arguments.c
# tests: test_megatron_names
s/k-- > 0 \&\& g->doubt == NULL/k-- > 0 \&\& false/
