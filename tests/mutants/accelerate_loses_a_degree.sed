# A degree that the distributed_type has no key for is left out, and named.
# file: core/interop/accelerate_write.c
# tests: test_written interop_property
s/if (!makes_the_plan(w, path) || is_idle(w, path)) continue;/if (makes_the_plan(w, path) || is_idle(w, path)) continue;/
