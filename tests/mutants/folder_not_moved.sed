# A folder that a thread fills meanwhile keeps its path, and is emptied once.
# file: core/base/remove.c
# tests: test_new_file
s/^  if (aside(path, moved, sizeof moved) && rename(path, moved) == 0) path = moved;/  (void)aside(path, moved, sizeof moved);/
s/i < 50/i < 1/
