# A key of a section is, at the top, just no key of Accelerate's.
# file: core/interop/accelerate.c
# tests: test_frames
s/if (section != NULL) return sl_json_fail(doc, key, "is at the top;/if (section == key) return sl_json_fail(doc, key, "is at the top;/
