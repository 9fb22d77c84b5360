# Of what is only received, the record has the first rank's calls, not those of the rank with most.
# file: core/record/record.c
# tests: test_folded_traffic
s/return sent != other ? sent > other : .*;/return sent > other;/
