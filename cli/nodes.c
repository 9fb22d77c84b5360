/* Flags about hosts, and what follows from them; see nodes.h. */
#include "cli/nodes.h"

#include "core/base/limits.h"
#include "core/base/machine.h"
#include "core/run/executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char default_hostfile[] = "/job/hostfile"; /* DeepSpeed's default */

/* Whether a flag selects hosts or slots. */
static bool speaks_of_hosts(const struct sl_options *o) {
  return o->hostfile != NULL || o->hosts != NULL || o->include != NULL || o->exclude != NULL || o->num_nodes > 0 ||
         o->num_gpus > 0 || o->no_ssh;
}

/* The slots of this machine if no flag gives them: its devices, or, on the host backend, where ranks are not devices,
 * its cores. */
static enum sl_status count_here(const struct sl_options *options, int *slots) {
  const struct sl_exec_ops *exec;
  struct sl_exec_devices devices = {.count = 0};
  *slots = options->num_gpus > 0 ? (int)options->num_gpus : sl_machine_cores();
  if (options->num_gpus > 0 || !sl_options_on_gpu(options)) return SL_OK;
  SL_TRY(sl_exec_load(options->backend, &exec));
  if (exec->probe != NULL) SL_TRY(exec->probe(&devices));
  *slots = devices.count;
  return *slots > 0 ? SL_OK : sl_fail(SL_ERR_INPUT, "Unable to proceed, no GPU resources available");
}

static enum sl_status read_pool(struct sl_hosts *hosts, const struct sl_options *o) {
  int slots;
  if (o->hosts != NULL) return sl_hosts_read(hosts, "hosts", o->hosts);
  if (o->hostfile != NULL) return sl_hosts_load(hosts, o->hostfile);
  if (access(default_hostfile, R_OK) == 0) return sl_hosts_load(hosts, default_hostfile);
  if (o->num_nodes > 1)
    return sl_fail(SL_ERR_INPUT,
                   "--num-nodes: Num nodes is >1 but no extra nodes available via hostfile; expected --hostfile");
  SL_TRY(count_here(o, &slots));
  return sl_hosts_one(hosts, "localhost", slots);
}

/* It becomes an argument of commands that are printed and run on other hosts. */
static enum sl_status check_address(const char *address) {
  static const char may_have[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:%";
  if (address == NULL || (*address != '\0' && *address != '-' && address[strspn(address, may_have)] == '\0'))
    return SL_OK;
  return sl_fail(SL_ERR_INPUT, "--master-addr: is '%s'; expected a host's name or its IPv4 or IPv6 address", address);
}

static enum sl_status check_flags(const struct sl_options *o) {
  const char *const chosen = o->include != NULL ? "include" : o->exclude != NULL ? "exclude" : NULL;
  static const char *const needs[] = {"launcher", "ssh-port", "node-rank"};
  static const char *const meeting[] = {"master-addr", "master-port"};
  if (chosen != NULL && (o->num_nodes > 0 || o->num_gpus > 0))
    return sl_fail(SL_ERR_INPUT, "--%s: Cannot specify num_nodes/gpus with include/exclude; expected one of them",
                   chosen);
  if (o->hosts != NULL && (chosen != NULL || o->hostfile != NULL))
    return sl_fail(SL_ERR_INPUT, "--hosts: stands beside --%s; expected it alone, it has its slots",
                   o->hostfile != NULL ? "hostfile" : chosen);
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (sl_options_given(o, needs[i]) && o->hostfile == NULL && o->hosts == NULL && access(default_hostfile, R_OK) != 0)
      return sl_fail(SL_ERR_INPUT, "--%s: is about hosts, and none is named; expected --hostfile", needs[i]);
  for (size_t i = 0; i < sizeof meeting / sizeof *meeting; i++)
    if (sl_options_given(o, meeting[i]) && !sl_options_on_gpu(o))
      return sl_fail(SL_ERR_INPUT, "--%s: ranks of the host backend find each other by MPI; expected --backend cuda",
                     meeting[i]);
  return check_address(o->master_addr);
}

static bool is_here(const char *host) {
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  return strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 || strcmp(host, name) == 0;
}

static enum sl_status place_by_hand(struct sl_nodes *nodes, const struct sl_options *o) {
  nodes->by_hand = true;
  if (!sl_options_on_gpu(o))
    return sl_fail(SL_ERR_INPUT,
                   "--no-ssh: ranks of the host backend find each other by MPI; expected --backend cuda, or "
                   "--launcher mpirun without --no-ssh");
  if (!sl_options_given(o, "node-rank") || (size_t)o->node_rank >= nodes->hosts.count)
    return sl_fail(
        SL_ERR_INPUT,
        "--node-rank: Launching training without ssh, but --node_rank is not set correctly; expected 0 to %zu",
        nodes->hosts.count - 1);
  nodes->node = (size_t)o->node_rank;
  return SL_OK;
}

/* Only ssh can pass device numbers to a host. */
static enum sl_status check_slots(const struct sl_nodes *nodes, const struct sl_options *o) {
  static const char *const names[] = {[SL_NODES_SSH] = "ssh", [SL_NODES_MPIRUN] = "mpirun", [SL_NODES_SRUN] = "srun"};
  if (!sl_options_on_gpu(o) && nodes->launcher == SL_NODES_SSH)
    return sl_fail(
        SL_ERR_INPUT,
        "--launcher: is ssh; expected mpirun or srun, since ranks of the host backend find each other by MPI");
  for (size_t i = 0; sl_options_on_gpu(o) && nodes->launcher != SL_NODES_SSH && i < nodes->hosts.count; i++) {
    const struct sl_host *host = &nodes->hosts.list[i];
    if (host->slots[host->count - 1] != host->count - 1)
      return sl_fail(SL_ERR_INPUT,
                     "--launcher: %s backend does not support worker include/exclusion by slot, and host %s has some "
                     "left out; expected ssh",
                     names[nodes->launcher], host->name);
  }
  return SL_OK;
}

static enum sl_status choose_launcher(struct sl_nodes *nodes, const struct sl_options *o) {
  if (o->no_ssh) return place_by_hand(nodes, o);
  if (sl_options_given(o, "node-rank"))
    return sl_fail(SL_ERR_INPUT, "--node-rank: is given without --no-ssh; expected both");
  nodes->remote = nodes->hosts.count > 1 || !is_here(nodes->hosts.list[0].name);
  if (!nodes->remote) return SL_OK;
  const char *name = o->launcher != NULL ? o->launcher : sl_options_on_gpu(o) ? "ssh" : "mpirun";
  nodes->launcher = strcmp(name, "ssh") == 0      ? SL_NODES_SSH
                    : strcmp(name, "mpirun") == 0 ? SL_NODES_MPIRUN
                                                  : SL_NODES_SRUN;
  return check_slots(nodes, o);
}

enum sl_status sl_nodes_settle(struct sl_nodes *nodes, struct sl_options *options) {
  enum sl_status status;
  *nodes = (struct sl_nodes){0};
  SL_TRY(check_flags(options));
  if (!speaks_of_hosts(options)) return SL_OK;
  SL_TRY(read_pool(&nodes->hosts, options));
  if (options->hosts == NULL) SL_GO_FAIL(sl_hosts_select(&nodes->hosts, options->include, options->exclude));
  SL_GO_FAIL(sl_hosts_first(&nodes->hosts, (int)options->num_nodes, (int)options->num_gpus));
  SL_GO_FAIL(choose_launcher(nodes, options));
  const int ranks = sl_hosts_ranks(&nodes->hosts);
  if (sl_options_given(options, "world") && options->world != ranks)
    SL_GO_FAIL(sl_fail(SL_ERR_INPUT, "--world: is %lld, but the hosts have %d slots; expected the same",
                       (long long)options->world, ranks));
  if (options->as_rank > 0 || options->of_world > 0)
    SL_GO_FAIL(sl_fail(SL_ERR_INPUT, "--as-rank: runs one rank alone; expected no flag about hosts"));
  options->world = ranks;
  return SL_OK;
fail:
  sl_nodes_free(nodes);
  return status;
}

bool sl_nodes_start(const struct sl_nodes *nodes, const struct sl_options *options) {
  if (options->of_world > 0) return false;
  return options->world > 1 || options->max_restarts > 0 || nodes->remote ||
         (nodes->hosts.count > 0 && sl_options_on_gpu(options)) || options->dry_run;
}

void sl_nodes_free(struct sl_nodes *nodes) {
  sl_hosts_free(&nodes->hosts);
}

/* Whether this word is one of those flags. *apart: its value is the next word. */
static bool is_of_hosts(const char *word, bool worldless, bool *apart) {
  static const char *const valued[] = {"hostfile", "hosts",        "include",     "exclude",     "num-nodes",
                                       "num-gpus", "launcher",     "master-addr", "master-port", "node-rank",
                                       "ssh-port", "max-restarts", NULL};
  static const char *const bare[] = {"no-ssh", "dry-run", NULL}, *const world[] = {"world", NULL},
                           *const none[] = {NULL};
  return sl_options_among(word, valued, bare, apart) || (worldless && sl_options_among(word, world, none, apart));
}

void sl_nodes_arguments(struct sl_words *words, int argc, char **argv, bool worldless) {
  for (int i = 1; i < argc; i++) {
    bool apart;
    if (!is_of_hosts(argv[i], worldless, &apart))
      sl_words_add(words, argv[i]);
    else
      i += apart;
  }
}
