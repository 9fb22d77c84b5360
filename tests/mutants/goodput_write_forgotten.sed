# The best interval may be shorter than a write.
# file: analysis/goodput.c
# tests: test_goodput
s/  if (written > whole) return/  if (written > whole \&\& whole < 0) return/
