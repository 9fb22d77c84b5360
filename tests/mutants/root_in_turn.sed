# FSDP's root unit takes turns with the layers in their bucket buffers, so all of them become one bucket.
# file: core/lower/bucket.c
# tests: test_lowering
s/alone\[i\] = now.first <= behind || /alone[i] = /
