# Pieces may overlap.
# file: core/checkpoint/manifest.c
# tests: test_checkpoint
s/if (p->first < at || !nothing/if (!nothing/
