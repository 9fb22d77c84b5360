# Formulas take messages that nothing overlaps for ones that overlap.
# file: fast/covers.c
# tests: test_fast_odd
s/if (config->sl.pp > 1 \&\& s->blocking_messages) return false;//
