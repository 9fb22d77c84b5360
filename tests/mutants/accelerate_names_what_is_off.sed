# Switches that are off anyway are named as left out.
# file: core/interop/accelerate_write.c
# tests: test_written
s/if (json_is_false(value) \&\& json_equal(value, sl_json_at(w->usual, path))) return true;/if (value == NULL) return true;/
