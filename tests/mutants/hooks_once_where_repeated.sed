# A checkpoint repeats a forward without its hooks.
# file: core/models/hooks.c
# tests: test_hooks
s/ \* (again ? 2 : 1)/ + 0 * again/
