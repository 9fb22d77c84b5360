# A moment that a life covers only the beginning of counts as covered.
# file: core/place/busy.c
# tests: test_busy
s/behind > 0 ? behind - 1 : 0/behind/
