# The bandwidth of a node's host memory is what one of its ranks reaches.
# file: analysis/fit_host.c
# tests: test_fit_profile
s/  return p->bytes \* p->ranks;/  return p->bytes;/
