# A rank may be slow by two factors, of which the last holds.
# file: cli/assume.c
# tests: test_cli
s/if (other->rank == last->rank)/if (other->rank == last->rank \&\& last->rank < 0)/
