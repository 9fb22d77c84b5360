# An idle pipeline rank fills states of no elements.
# file: core/job/programs.c
# tests: test_stages
s/  drop_empty_fills(p);/  (void)drop_empty_fills;/
