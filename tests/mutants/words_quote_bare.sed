# A quote inside a quoted word stays as it is.
# file: core/launch/words.c
# tests: test_remote
s/if (\*word == '\\'')/if (*word == '\\0')/
