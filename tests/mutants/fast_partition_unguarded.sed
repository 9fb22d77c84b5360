# A reduction into a part of the gradient lets others write there meanwhile.
# file: fast/reduce.c
# tests: test_fast
s/if (late > 0) wait_for(w, late), w->held += late;/(void)late;/
