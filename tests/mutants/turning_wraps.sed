# What is known at the start of a lifetime behind the copies is compared before it is moved there, when it may be less than 0.
# file: core/place/turning.c
# tests: test_repeat
s/struct sl_life part = shifted(t, piece, (int64_t)copies - ago);/struct sl_life part = shifted(t, piece, -(int64_t)ago);\n    if (begins(s, piece)) {\n      if (found) join(\&part, out);\n      return *out = shifted(t, \&part, copies), true;\n    }/
