# --strict lets an unknown key of torchtitan's pass.
# file: core/interop/settings.c
# tests: test_frames
s/if (!found && !a->strict) return SL_OK;/if (!found) return SL_OK;/
