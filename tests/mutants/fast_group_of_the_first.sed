# Micro-batches take as long as those of the rank whose step ends last.
# file: fast/whole.c
# tests: test_fast_odd
s/sl_timeline_slowest(w.up_to\[1\].count > 0 ? &w.up_to\[1\] : &w.step)/sl_timeline_slowest(\&w.step)/
