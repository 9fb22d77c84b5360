# What is known at the start of a lifetime behind the copies is compared before it is moved there, when it may be less than 0.
# file: core/place/turning.c
# tests: test_repeat
s/const struct sl_life part = shifted(s, piece, (int64_t)copies - ago);/struct sl_life part = shifted(s, piece, -(int64_t)ago);\n    if (begins(s, piece)) return *out = found ? join(\&part, out) : part, *out = shifted(s, out, copies), true;/
