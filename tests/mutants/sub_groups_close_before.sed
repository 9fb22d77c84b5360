# A sub-group closes before the parameter that would exceed sub_group_size.
# file: core/lower/home.c
# tests: test_offload
s/s->end - s->first >= most))/s->end - s->first + u->part > most))/
