# Compute that is timed ahead loses nothing beside a call of the stretch.
# file: sim/ahead.c
# tests: test_sim_flow
s/lost = a->moves \&\& a->beside > a->lost ? a->beside : a->lost;/lost = a->lost;/
