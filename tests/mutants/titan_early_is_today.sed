# A pipeline of 2024 is read as one of today.
# file: core/interop/torchtitan_pipeline.c
# tests: test_titan_pipeline
s/  t->is_old = !size \&\& (parts/  t->is_old = false \&\& (parts/
