/* What a program may ask the witness at run time. The witness is preloaded, so its functions are found by dlsym. */
#pragma once

/* One message handed to MPI_Isend. */
struct sl_pmpi_message {
  int tag, to; /* `to`: rank in the communicator */
  long long bytes;
};

/* The bytes that this process has handed to MPI_Isend so far, over all communicators named `name`, including closed
 * ones. */
typedef long long sl_pmpi_sent_fn(const char *name);
sl_pmpi_sent_fn sl_pmpi_sent;

/* Keeps every message of communicators that are created from now on. */
typedef void sl_pmpi_keep_fn(void);
sl_pmpi_keep_fn sl_pmpi_keep;

/* The messages of the open communicator named `name`, in the order in which they were sent; returns their number. *out
 * belongs to the witness and is valid until the communicator is freed. */
typedef long long sl_pmpi_messages_fn(const char *name, const struct sl_pmpi_message **out);
sl_pmpi_messages_fn sl_pmpi_messages;
