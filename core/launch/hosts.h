/* The hosts of a job and the slots of each that it uses (devices, or ranks where ranks need no device), by the rules of
 * DeepSpeed's launcher: a hostfile like MPI's defines the pool, an inclusion or an exclusion selects from it.
 *
 *   hostfile    HOST slots=N, one per line. Empty lines and lines that begin with # are skipped, as is anything after
 *               the slots, such as max_slots=8. A host's slots are 0 to N-1; a host with none is not used.
 *   selection   NODE_SPEC[@NODE_SPEC ...], NODE_SPEC = HOST[:SLOT[,SLOT ...]]; without slots all of that host. Slots of
 *               a host that occurs twice are merged.
 *
 * Ranks are assigned to hosts in the hostfile's order, and on a host to slots in ascending order. A host's name
 * consists of letters, digits, '.', '_' and '-', and does not begin with '-', since it becomes an argument of
 * commands. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>

struct sl_host {
  char *name; /* owned */
  int *slots; /* count of them, ascending; owned */
  int count;
};

struct sl_hosts {
  struct sl_host *list; /* owned */
  size_t count, capacity;
};

/* Each of the next three functions fills `hosts`; on failure it is empty. Parses the text of a hostfile, called `name`
 * in messages. Errors: SL_ERR_INPUT with the line, in DeepSpeed's words; SL_ERR_MEMORY. */
enum sl_status sl_hosts_parse(struct sl_hosts *hosts, const char *name, const char *text, size_t size);
/* Reads the file `path`. Errors: those of sl_hosts_parse and sl_file_load. */
enum sl_status sl_hosts_load(struct sl_hosts *hosts, const char *path);
/* One host with slots 0 to slots-1. Errors: SL_ERR_INPUT, SL_ERR_MEMORY. */
enum sl_status sl_hosts_one(struct sl_hosts *hosts, const char *name, int slots);
/* Reads a pool and its selection in one, as sl_hosts_print writes it: every host with its slots. `flag`: the name for
 * messages, without dashes. */
enum sl_status sl_hosts_read(struct sl_hosts *hosts, const char *flag, const char *text);

/* Selects from a pool; at most one of the two is not NULL. Hosts without slots are removed. Errors: SL_ERR_INPUT: an
 * unknown host or slot, nothing left, a malformed selection. */
enum sl_status sl_hosts_select(struct sl_hosts *hosts, const char *include, const char *exclude);
/* Keeps the first `nodes` hosts and the first `slots` of each; 0: all. Errors: SL_ERR_INPUT if there are fewer. */
enum sl_status sl_hosts_first(struct sl_hosts *hosts, int nodes, int slots);

/* Remove host `name`; the slot of rank `rank`; the slots after the first `ranks`. Nothing happens if it does not
 * exist. */
void sl_hosts_without(struct sl_hosts *hosts, const char *name);
void sl_hosts_without_rank(struct sl_hosts *hosts, int rank);
void sl_hosts_cut(struct sl_hosts *hosts, int ranks);
/* A copy; on failure it is empty. Errors: SL_ERR_MEMORY. */
enum sl_status sl_hosts_copy(struct sl_hosts *out, const struct sl_hosts *hosts);

/* Slots of all hosts, which is the number of ranks; and the first rank of host `i`. */
int sl_hosts_ranks(const struct sl_hosts *hosts);
int sl_hosts_first_rank(const struct sl_hosts *hosts, size_t i);
/* "worker-0:0,1@worker-1:0", owned by the caller; NULL if out of memory. */
char *sl_hosts_print(const struct sl_hosts *hosts);
/* "0,2": a host's slots in the form of CUDA_VISIBLE_DEVICES, owned by the caller; NULL if out of memory. */
char *sl_host_slots(const struct sl_host *host);
/* Accepts a zeroed one. */
void sl_hosts_free(struct sl_hosts *hosts);
