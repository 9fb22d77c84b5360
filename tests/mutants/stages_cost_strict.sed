# By cost a rank gives way only above its share, not on reaching it.
# file: core/plan/stages.c
# tests: test_stages
s/if ((double)(i + 1) \* layer \* ranks >= total/if ((double)(i + 1) * layer * ranks > total/
