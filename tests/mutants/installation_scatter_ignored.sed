# A cluster that nothing was fitted to has the interval of those that something was.
# file: cost/error.c
# tests: test_error
s/error->rank->fitted ||/true ||/
