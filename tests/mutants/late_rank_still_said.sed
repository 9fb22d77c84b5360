# What a rank says after the job has timed out is printed, too.
# file: cli/launch.c
# tests: test_cli_mpirun
s/if (n->late) return .*$/if (n->late) return false;/
