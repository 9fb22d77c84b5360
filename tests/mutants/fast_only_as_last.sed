# The fast clock takes memory in a step's only backward for that in the last of several.
# file: fast/reduce.c
# tests: test_fast
s/left\[!w->other\]/left[0]/; s/now\[!w->other\]/now[0]/
