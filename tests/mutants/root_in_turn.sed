# FSDP's root unit takes turns with the layers in their bucket buffers, so all of them become one bucket.
# file: core/lower/reduce.c
# tests: test_lowering
s/r->alone\[i\] = first <= behind || shared/r->alone[i] = shared/
