# Compute does not wait for the call of a stretch.
# file: sim/ahead.c
# tests: test_sim_flow
s/behind \&= a.moves \&\& a.until > now;/behind = false;/
