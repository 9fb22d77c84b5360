# A query sees one key more than its window has.
# file: kernels/scores.h
# tests: test_kernels_forms
s/t >= s->window ? t + 1 - s->window : 0/t > s->window ? t - s->window : 0/
