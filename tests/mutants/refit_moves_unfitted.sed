# The fit moves numbers of clusters that no fitted run has to the centres of their priors.
# file: refit/clock.c
# tests: test_runs
s/p->prior = values\[j\];/(void)p;/
