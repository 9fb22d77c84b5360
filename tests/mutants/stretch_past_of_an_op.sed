# When a stretch is settled, the op that runs has not been slowed before.
# file: sim/ahead.c
# tests: test_sim_flow
s/ops\[i\].end > reached \&\& share/ops[i].end > reached + 1e9 \&\& share/
