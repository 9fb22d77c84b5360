# An old name that says something else than the new one is dropped without a word.
# file: core/interop/settings.c
# tests: test_frames
s/if (found == NULL || value == NULL || json_equal(found, value)) //
