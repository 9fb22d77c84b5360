# Keys and values are never repeated.
# file: core/models/kept.c
# tests: test_kept
s|(masked .. (eager \&\& !flash) .. set_of(g)->torch_blocks)|false|
