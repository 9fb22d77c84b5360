# Of zero_optimization the usual value cannot be expressed, too.
# file: core/interop/accelerate_write.c
# tests: test_written
s/if (is != NULL \&\& !json_equal(is, other) \&\& !is_given_as/if (is != NULL \&\& (json_equal(is, other) || !is_given_as/; s/is_given_as(w, path, other)) SL_TRY/is_given_as(w, path, other))) SL_TRY/
