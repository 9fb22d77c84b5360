# Periods are copied though a lane may still wait for ops from before they were identical.
# file: core/place/turning.c
# tests: test_repeat
s/      if (clock\[other\] < since->lane_ops\[other\]) return false;/      (void)clock, (void)since, (void)other;/
