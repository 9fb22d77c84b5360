# A notice that lost its frame is printed.
# file: cli/launch.c
# tests: test_cli_mpirun
s/n->inside = n->inside || begins_notice(line);/(void)begins_notice;/
