# What a backward's first half makes may take the place of an activation that it still has to read.
# file: core/lower/slots.c
# tests: test_arena
s/uses\[i\].heir > 0 || uses\[i\].last >= uses\[made\].first)/uses[i].heir > 0)/
