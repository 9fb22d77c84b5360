# Every copied block waits for what the first copy waits for.
# file: fast/stretch.c
# tests: test_fast_stretch
s/ + c \* (own - last))/ + 0 * c * (own - last))/
