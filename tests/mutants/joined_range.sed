# Every part of a call over a shared range begins where the first does.
# file: core/op/wire.c
# tests: test_lowering golden_2
/for (int i = 0; i < part; i++) lo += side_count/d
