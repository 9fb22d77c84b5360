/* Open MPI complains in dozens of lines. This finds the sentence in them that says what is wrong. */
#pragma once

enum { SL_MPI_GIST_BYTES = 600 };

/* Writes to `out` the first sentence of `text`, which is what Open MPI printed: with the lines like "Component:
 * nothing" behind it, and with the value of OPAL_PREFIX if that is set, as a wrong one has no message of its own. `out`
 * is printable, and "" if `text` has no sentence. */
void sl_mpi_gist(const char *text, char out[SL_MPI_GIST_BYTES]);
