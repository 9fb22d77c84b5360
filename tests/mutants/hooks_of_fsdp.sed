# FSDP has hooks of every module.
# file: core/models/hooks.c
# tests: test_hooks
s/s->hooked == SL_UNITS_LAYER ? HOOKS_OF_A_UNIT : //
