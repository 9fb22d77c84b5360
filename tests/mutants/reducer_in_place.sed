# DDP's reducer has no buckets of its own.
# file: core/plan/strategy.c
# tests: test_reducer
s/s->copies_to_buckets = preset.family.*$/s->copies_to_buckets = false;/
