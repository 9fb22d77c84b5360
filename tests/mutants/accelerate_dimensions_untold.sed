# tp, pp and the like are taken as written, whatever type is written.
# file: core/interop/accelerate_write.c
# tests: test_written
s/return w->kind == MEGATRON;$/return true;/
