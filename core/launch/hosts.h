/* The hosts of a job and the slots (devices, or ranks where ranks need none) that it takes of each, by the rules of DeepSpeed's launcher: a
 * hostfile in the manner of MPI's gives the pool, an inclusion or an exclusion chooses from it.
 *
 *   hostfile    HOST slots=N, one a line; empty lines and lines that begin with # are passed over, and so is what stands behind
 *               the slots, such as max_slots=8. A host's slots are 0 to N-1; one with none is not used.
 *   selection   NODE_SPEC[@NODE_SPEC ...], NODE_SPEC = HOST[:SLOT[,SLOT ...]]; without slots all of that host. Of a host that
 *               stands twice the slots come together.
 *
 * Ranks go to hosts in the hostfile's order, and on a host to slots in theirs. A host's name is letters, digits, '.', '_' and
 * '-', and does not begin with '-': it is a word of commands. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>

struct sl_host {
  char *name; /* owned */
  int *slots; /* count of them, increasing; owned */
  int count;
};

struct sl_hosts {
  struct sl_host *list; /* owned */
  size_t count, capacity;
};

/* Each of these three fills `hosts`, which holds nothing when they fail.
 * The text of a hostfile, `name` in messages. Errors: SL_ERR_INPUT with the line, in DeepSpeed's words; SL_ERR_MEMORY. */
enum sl_status sl_hosts_parse(struct sl_hosts *hosts, const char *name, const char *text, size_t size);
/* The file `path`. Errors: of sl_hosts_parse and sl_file_load. */
enum sl_status sl_hosts_load(struct sl_hosts *hosts, const char *path);
/* One host with slots 0 to slots-1. Errors: SL_ERR_INPUT, SL_ERR_MEMORY. */
enum sl_status sl_hosts_one(struct sl_hosts *hosts, const char *name, int slots);
/* A pool and its selection in one, as sl_hosts_print writes it: every host with its slots. `flag` in messages, without dashes. */
enum sl_status sl_hosts_read(struct sl_hosts *hosts, const char *flag, const char *text);

/* Choose from a pool, at most one of the two not NULL; hosts without slots go. Errors: SL_ERR_INPUT: a host or a slot that is not
 * there, nothing left, a selection that is none. */
enum sl_status sl_hosts_select(struct sl_hosts *hosts, const char *include, const char *exclude);
/* The first `nodes` hosts and the first `slots` of each; 0: all. Errors: SL_ERR_INPUT where there are fewer. */
enum sl_status sl_hosts_first(struct sl_hosts *hosts, int nodes, int slots);

/* Without host `name`; without the slot that rank `rank` has; without slots behind the first `ranks`. What is not there is left out
 * already. */
void sl_hosts_without(struct sl_hosts *hosts, const char *name);
void sl_hosts_without_rank(struct sl_hosts *hosts, int rank);
void sl_hosts_cut(struct sl_hosts *hosts, int ranks);
/* A copy. Errors: SL_ERR_MEMORY, with nothing held. */
enum sl_status sl_hosts_copy(struct sl_hosts *out, const struct sl_hosts *hosts);

/* Slots of all hosts: the ranks of the job. Of the hosts before host `i`: its first rank. */
int sl_hosts_ranks(const struct sl_hosts *hosts);
int sl_hosts_first_rank(const struct sl_hosts *hosts, size_t i);
/* "worker-0:0,1@worker-1:0", the caller's; NULL for want of memory. */
char *sl_hosts_print(const struct sl_hosts *hosts);
/* "0,2": a host's slots as CUDA_VISIBLE_DEVICES has them, the caller's; NULL for want of memory. */
char *sl_host_slots(const struct sl_host *host);
/* Accepts a zeroed one. */
void sl_hosts_free(struct sl_hosts *hosts);
