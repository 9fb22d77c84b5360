# The 16-bit input is kept beside its cast.
# file: core/models/own_casts.c
# tests: test_own_casts
s/if (w.kept\[i\] >= 0) let_go/if (w.kept[i] < -1) let_go/
