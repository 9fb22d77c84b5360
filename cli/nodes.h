/* Where the ranks of a job go: what --hostfile, --include, --exclude, --num-nodes, --num-gpus and their like say. Words, defaults and errors are those of DeepSpeed's launcher. */
#pragma once

#include "cli/options.h"
#include "core/launch/hosts.h"
#include "core/launch/words.h"

enum sl_nodes_launcher { SL_NODES_SSH, SL_NODES_MPIRUN, SL_NODES_SRUN };

struct sl_nodes {
  struct sl_hosts hosts; /* none: no flag speaks of hosts, --world ranks are of this machine */
  bool remote;           /* a launcher goes to the hosts; else the ranks that are started are of this machine */
  bool by_hand;          /* --no-ssh: this process starts those of host `node` */
  size_t node;
  enum sl_nodes_launcher launcher;
};

/* In a process that no launcher has started. Where flags speak of hosts their slots become --world. `nodes` holds nothing when
 * this fails. Errors: SL_ERR_INPUT. */
enum sl_status sl_nodes_settle(struct sl_nodes *nodes, struct sl_options *options);
/* Is there anything to start, or is this process the job? */
bool sl_nodes_start(const struct sl_nodes *nodes, const struct sl_options *options);
/* Accepts a zeroed one. */
void sl_nodes_free(struct sl_nodes *nodes);

/* The words of a command line without those that say where ranks go, and without --max-restarts, which is the launcher's: argv[1] to
 * argv[argc-1]. `worldless`: without --world, too, since other ranks are started than it says. */
void sl_nodes_arguments(struct sl_words *words, int argc, char **argv, bool worldless);
