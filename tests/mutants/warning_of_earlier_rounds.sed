# A process does not learn what earlier ones of its command have warned of.
# file: cli/said.c
# tests: test_said
s/^  learn_shared();$//
