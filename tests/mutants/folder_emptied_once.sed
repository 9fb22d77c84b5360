# A folder that a thread fills meanwhile is emptied once.
# file: core/base/remove.c
# tests: test_new_file
s/i < 250/i < 1/
