# What takes hardly more than a launch tells of the link to host memory, too.
# file: analysis/fit_host.c
# tests: test_fit_profile
s/p->median_s > LAUNCHES \* launch/p->median_s > launch/
