# Slots that live through no period keep periods from being copied, however often their cycles have been derived.
# file: core/place/turning.c
# tests: test_repeat
s/t->unseen = own.through == 0 .*/t->unseen = own.through == 0;/
