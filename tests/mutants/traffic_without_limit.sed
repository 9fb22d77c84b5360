# Only the buffers of a rank are compared with their limit.
# file: core/job/job.c
# tests: test_limits
s/, {"traffic in a step", .*}};/};/
