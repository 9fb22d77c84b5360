# Lowering uses up the drafts: their buffers are its own, and a second lowering has none.
# file: core/job/programs.c
# tests: test_const_drafts
s/^  SL_TRY(sl_zero_start(l));/  drafted->rank_class->buffer_count = 0;\n&/
