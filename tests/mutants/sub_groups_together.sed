# ZeRO-3 copies the gradients of all sub-groups at once.
# file: core/lower/update.c
# tests: test_whole_sums
s/  const int64_t group = asked > least ? asked : least;/  const int64_t group = asked > run.count + least ? asked : run.count + least;/
