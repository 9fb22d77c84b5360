# The backward casts weights again, recomputed or not.
# file: core/models/autocast.c
# tests: test_autocast_casts
s/h->forward >= 0 \&\& !casts_again/h->forward < 0 \&\& !casts_again/
