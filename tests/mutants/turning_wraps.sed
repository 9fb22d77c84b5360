# What is known at the start of a lifetime behind the copies is compared before it is moved there, when it may be less than 0.
# file: core/place/turning.c
# tests: test_repeat
s/struct sl_life part = sl_added_shifted(&t->added, piece, (int64_t)copies - ago);/struct sl_life part = sl_added_shifted(\&t->added, piece, -(int64_t)ago);\n    if (sl_added_begins(s, piece)) {\n      if (found) sl_added_join(\&part, out);\n      return *out = sl_added_shifted(\&t->added, \&part, copies), true;\n    }/
