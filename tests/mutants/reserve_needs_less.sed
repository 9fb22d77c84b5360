# What a program cannot do without is said to be half of it.
# file: core/place/reserve.c
# tests: test_reserve
s/  SL_GO(replay(&r, true, &report->needed_bytes));/  SL_GO(replay(\&r, true, \&report->needed_bytes));\n  report->needed_bytes \/= 2;/
