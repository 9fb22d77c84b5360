# Padding is saved as if it were elements.
# file: core/checkpoint/save.c
# tests: test_checkpoint
s/local < end \&\& p->held < p->count;/local < end \&\& false;/
