/* Where the ranks of a job run, according to --hostfile, --include, --exclude, --num-nodes, --num-gpus and similar
 * flags. Names, defaults and errors are those of DeepSpeed's launcher. */
#pragma once

#include "cli/options.h"
#include "core/launch/hosts.h"
#include "core/launch/words.h"

enum sl_nodes_launcher { SL_NODES_SSH, SL_NODES_MPIRUN, SL_NODES_SRUN };

struct sl_nodes {
  struct sl_hosts hosts; /* empty: no flag is about hosts, and the --world ranks run on this machine */
  bool remote;           /* a launcher goes to the hosts; otherwise the ranks that are started run on this machine */
  bool by_hand;          /* --no-ssh: this process starts the ranks of host `node` */
  size_t node;
  enum sl_nodes_launcher launcher;
};

/* Call in a process that no launcher has started. If flags are about hosts, the hosts' slots become --world. `nodes` is
 * empty after a failure. Errors: SL_ERR_INPUT. */
enum sl_status sl_nodes_settle(struct sl_nodes *nodes, struct sl_options *options);
/* Whether there are ranks to start; otherwise this process is the whole job. */
bool sl_nodes_start(const struct sl_nodes *nodes, const struct sl_options *options);
/* Accepts a zeroed struct. */
void sl_nodes_free(struct sl_nodes *nodes);

/* The words argv[1] to argv[argc-1] of a command line, without the flags about hosts and without --max-restarts, which
 * only concerns the launcher. `worldless`: also without --world, because a different number of ranks is started. */
void sl_nodes_arguments(struct sl_words *words, int argc, char **argv, bool worldless);
