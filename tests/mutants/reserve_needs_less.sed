# What a program cannot do without is said to be half of it.
# file: core/place/reserve.c
# tests: test_reserve
s/  report->needed_bytes = report->reserved_bytes;/  report->needed_bytes = report->reserved_bytes \/ 2;/
