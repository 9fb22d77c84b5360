# What stops Open MPI does not say that OPAL_PREFIX is set.
# file: core/base/mpi_gist.c
# tests: test_cli_mpirun
s|^  if (out\[0\] != '.0' && prefix != NULL|  if (0 \&\& prefix != NULL|
