# Messages of a turn go at once.
# file: core/schedule/passes.c
# tests: test_schedule
s/if (p->turn == NULL) return pass_on/if (1) return pass_on/
