# A message begins when the second of its two ranks arrives in the order in which they are walked over, not in time.
# file: sim/flow.c
# tests: test_sim_flow
s/(meets \&\& theirs->ready > ready ? theirs->ready : ready)/ready/
