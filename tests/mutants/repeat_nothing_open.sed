# What fills and empties a pipeline is derived micro-batch by micro-batch.
# file: core/place/repeat.c
# tests: test_repeat
s/  SL_TRY(find_open(f, begin, behind, &run));/  SL_TRY(find_open(f, begin, behind, \&run));\n  free(run.next);\n  run.period = 0;/
