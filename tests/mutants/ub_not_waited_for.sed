# A product reads the piece before its own, which is there: its own is sent and not waited for.
# file: core/models/linear.c
# tests: test_tp_overlap
s/made\[k\], sl_regions_piece(x, i, pieces)/made[k], sl_regions_piece(x, i > 0 ? i - 1 : 0, pieces)/
