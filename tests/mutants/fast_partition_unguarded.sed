# A reduction into a part of the gradient lets others write there meanwhile.
# file: fast/reduce.c
# tests: test_fast
s/if (late > 0) w->held += late, w->waits++;/(void)late;/
