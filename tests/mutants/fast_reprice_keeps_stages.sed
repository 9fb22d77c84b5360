# A fast clock with new numbers goes on with stages of the old ones.
# file: fast/fast.c
# tests: test_fast_reprice
/^  forget_stages(f);$/{N;s/^  forget_stages(f);\n  memset/  memset/}
