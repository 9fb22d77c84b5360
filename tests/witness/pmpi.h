/* What a program may ask the witness while it runs. It is preloaded, so its functions are found by dlsym. */
#pragma once

/* One message handed to MPI_Isend. */
struct sl_pmpi_message {
  int tag, to; /* `to`: rank in the communicator */
  long long bytes;
};

/* Bytes that this process has handed to MPI_Isend so far over all communicators called `name`, closed ones included. */
typedef long long sl_pmpi_sent_fn(const char *name);
sl_pmpi_sent_fn sl_pmpi_sent;

/* Keep every message of communicators that are made from now on. */
typedef void sl_pmpi_keep_fn(void);
sl_pmpi_keep_fn sl_pmpi_keep;

/* The messages of the open communicator called `name`, in the order in which they were sent; returns their number.
 * *out is the witness's own, until the communicator is freed. */
typedef long long sl_pmpi_messages_fn(const char *name, const struct sl_pmpi_message **out);
sl_pmpi_messages_fn sl_pmpi_messages;
