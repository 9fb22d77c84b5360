# The file in which processes note their warnings may be a link to another's file.
# file: cli/said.c
# tests: test_said
s/O_APPEND | O_NOFOLLOW/O_APPEND/
