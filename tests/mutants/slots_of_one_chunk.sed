# Every stage of a rank has slots of its own, as many as it alone ever holds.
# file: core/lower/slots.c
# tests: test_arena
s/if (members\[i\].ordinal != members\[end\].ordinal) break;/break;/
