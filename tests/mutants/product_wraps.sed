# A product that does not fit wraps.
# file: core/base/checked.h
# tests: test_limits
s/__builtin_mul_overflow(a, b, &out) ? SL_HUGE : out/__builtin_mul_overflow(a, b, \&out) ? out : out/
