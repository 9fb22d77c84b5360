# Accelerate's YAML has floats that are texts.
# file: core/interop/accelerate_write.c
# tests: test_written
s/lacks ? ".0" : ""/lacks ? "" : ""/
