# Only the buffers of a rank are compared with their limit.
# file: core/job/job.c
# tests: test_limits
s/, {"traffic in a step", .*}};/};/; s/static int64_t traffic_bytes/__attribute__((unused)) static int64_t traffic_bytes/
