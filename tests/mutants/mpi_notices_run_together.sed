# The end of a notice of Open MPI is not its frame: details of the next one are said, too.
# file: core/base/mpi_gist.c
# tests: test_cli_mpirun
s/^      if (detailed || (whole && \*text == '-')) break;/      if (0) break;/
