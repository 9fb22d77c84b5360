# A slice of a trace lasts less than nothing.
# file: core/run/trace.c
# tests: test_cli
s/(long long)(s->end_us - s->begin_us));/(long long)(s->begin_us - s->end_us));/
