# A fitted number may leave its bounds.
# file: refit/solve.c
# tests: test_solve
s/in->low\[j\] = fmax(log(q->priors\[j\].low), /in->low[j] = fmax(-99, /
