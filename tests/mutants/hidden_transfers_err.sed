# The errors of links count whether transfers are hidden or not.
# file: cost/fitted.c
# tests: test_error
s/transfers > 0 ? exposed \/ transfers : 0/1/
