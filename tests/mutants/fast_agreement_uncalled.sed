# The all-reduce of all ranks costs a host nothing.
# file: fast/fast.c
# tests: test_fast
s/const double host = s->hosts\[i\] + agree->host;/const double host = s->hosts[i];/
