# What is left over of an early pipeline's layers goes to the first stages.
# file: core/interop/torchtitan_pipeline.c
# tests: test_titan_pipeline
s/(i >= 1 \&\& i <= more)/(i < more)/
