# A vocabulary that Accelerate pads otherwise is lost without an error.
# file: core/interop/accelerate_write.c
# tests: test_written interop_property
s/  if (w->kind == MEGATRON) return refuse_lost(w, rows, is,/  if (w->kind == NO_KIND) return refuse_lost(w, rows, is,/
