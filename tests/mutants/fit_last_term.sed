# A fit of few points leaves out the only term that says anything of one of them.
# file: analysis/fit_entry.c
# tests: test_fit
s/if (needed(q, j))$/if (q->p == 0)/
