# An overlap that the preset has, and Accelerate no key for, is lost without an error.
# file: core/interop/accelerate_write.c
# tests: test_written interop_property
s/if (w->kind == MEGATRON \&\& !is_as_usual(w, overlap))/if (w->kind == NO_KIND \&\& !is_as_usual(w, overlap))/
