# ZeRO-2 adds the own parts of later micro-batches where they are kept, as they arrive.
# file: core/plan/strategy.c
# tests: test_whole_sums
s/  s->adds_parts_later = alone;/  s->adds_parts_later = false;/
