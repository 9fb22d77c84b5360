# FSDP has hooks of every module.
# file: core/models/hooks.c
# tests: test_hooks
s/ \&\& s->units == SL_UNITS_PARAMETER//
