# The backward of materialised attention takes capped scores for plain ones.
# file: kernels/attention_backward.c
# tests: test_kernels_forms
s/if (n > 0 \&\& h->s->cap > 0) uncap_row/if (0) uncap_row/
