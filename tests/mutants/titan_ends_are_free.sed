# The two ends of a model count as no layers where torchtitan deals layers to stages.
# file: core/interop/torchtitan_pipeline.c
# tests: test_frames
s/int64_t less\[2\] = {1, 1}, each = 0;/int64_t less[2] = {0, 0}, each = 0;/
