# That the age of a pipeline of spring 2025 is open goes without a word.
# file: core/interop/torchtitan_pipeline.c
# tests: test_titan_pipeline
s/  if (open)$/  if (open \&\& t->is_old)/
