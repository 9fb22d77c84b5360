# A folder that a thread fills meanwhile keeps its path, and is emptied once.
# file: core/base/remove.c
# tests: test_new_file
/ && rename(path, moved) == 0) path = moved;/d
s/i < 50/i < 1/
