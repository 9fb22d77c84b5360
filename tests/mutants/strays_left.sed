# A command ends before a rank that its mpirun left behind.
# file: cli/children.c
# tests: test_cli_mpirun
s|^  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);|  (void)0;|
