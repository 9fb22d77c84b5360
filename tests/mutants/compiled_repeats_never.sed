# torch.compile keeps k and v as they are, not repeated for every query head.
# file: core/models/kept.c
# tests: test_kept
s/!flash) || compiled) /!flash)) /
