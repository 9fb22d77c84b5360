# Ends of slices are rounded up, and beginnings down.
# file: core/run/trace.c
# tests: traces
s/(int64_t)floor(done->end_s \* 1e6)/(int64_t)ceil(done->end_s * 1e6) + 1/
