# Numbers that --only does not name are fitted all the same.
# file: refit/numbers.c
# tests: test_runs
s/    if (i == count)$/    if (i > count)/
