# What an mpirun that stays has said of a rank's death is lost when it is ended.
# file: cli/launch.c
# tests: test_cli_mpirun
s/} else if (n->rank >= 0) {/} else if (n->rank >= 0 \&\& !n->lingered) {/
