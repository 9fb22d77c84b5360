# Of zero_optimization the usual value cannot be expressed, too.
# file: core/interop/accelerate_write.c
# tests: test_written
s/if (is != NULL \&\& !json_equal(is, other)) SL_TRY/if (is != NULL) SL_TRY/
