# A host that vanishes is missed when TCP gives up, by Open MPI's own times.
# file: cli/mpirun.c
# tests: launch_mpirun
/oob_tcp_keepalive/d
