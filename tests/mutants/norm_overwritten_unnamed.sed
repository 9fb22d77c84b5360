# Those who read a branch's gradient look for it where it no longer is.
# file: core/models/norm_fusion.c
# tests: test_norm_fusion
s/    rename_buffer(&drafts->items\[at\], from, to);/    continue;/
