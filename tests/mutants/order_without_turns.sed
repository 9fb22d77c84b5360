# The head of a lane does not go back where a program repeats.
# file: sim/order.c
# tests: test_sim_flow
s/  if (r->times == 0) return;/  return;/
