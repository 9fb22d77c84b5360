# Flows rise by their rates, not by what they take of a link.
# file: cost/maxmin.c
# tests: test_maxmin
s/m->weight\[f\] = m->use\[i\];/m->weight[f] = 1;/
