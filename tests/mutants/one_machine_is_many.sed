# One machine of Accelerate's file may be several.
# file: core/interop/accelerate.c
# tests: test_cli
s/machines > 1 || said ?/machines > 1 || (said \&\& machines < 0) ?/
