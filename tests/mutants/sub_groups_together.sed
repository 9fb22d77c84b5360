# ZeRO-3 copies the gradients of all sub-groups at once.
# file: core/lower/update.c
# tests: test_whole_sums
s/  while (sl_owned_next(l, run, &s, &piece)) SL_TRY(emit_update_run(l, p, piece, 0));/  while (sl_owned_next(l, run, \&s, \&piece)) if (piece.first == 0) SL_TRY(emit_update_run(l, p, run, 0));/
