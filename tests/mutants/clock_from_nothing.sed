# A lane that knows nothing of another knows of its ops behind copied periods.
# file: core/place/linker.h
# tests: test_repeat
s/clock\[lane\] += by\[lane\] & .*;/clock[lane] += by[lane];/
