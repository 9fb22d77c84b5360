/* One entry point for all launchers; see start.h. */
#include "cli/start.h"

#include "cli/launch.h"
#include "cli/launch_ranks.h"
#include "cli/launch_ssh.h"
#include "cli/leash.h"
#include "cli/nodes_environment.h"
#include "core/base/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What all launchers need; drop() frees its lists. */
struct start {
  const struct sl_nodes *nodes;
  const struct sl_options *options;
  char self[4096], folder[4096], *address;
  struct sl_words arguments, environment;
};

static void drop(struct start *s) {
  sl_words_free(&s->arguments);
  sl_words_free(&s->environment);
  free(s->address);
}

/* The words as a list, even if there are none. */
static char *const *list_of(const struct sl_words *words) {
  static char *const none[] = {NULL};
  return words->list != NULL ? words->list : none;
}

static enum sl_status show(const struct sl_words *words) {
  char *line = sl_words_line(words->list);
  if (line == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: a command");
  puts(line);
  free(line);
  return SL_OK;
}

/* ---- MPI ---- */

static enum sl_status by_mpirun(struct start *s, struct sl_ended *ended) {
  const bool remote = s->nodes->remote;
  const struct sl_mpi_job job = {.world = (int)s->options->world,
                                 .arguments = list_of(&s->arguments),
                                 .hosts = remote ? &s->nodes->hosts : NULL,
                                 .environment = list_of(&s->environment),
                                 .ssh_port = (int)s->options->ssh_port};
  struct sl_words words = {0};
  if (!s->options->dry_run) return sl_launch_mpi(&job, ended);
  enum sl_status status = sl_launch_mpi_words(&job, &words);
  if (status == SL_OK) status = show(&words);
  sl_words_free(&words);
  return status;
}

/* ---- hosts ---- */

static struct sl_remote remote_of(const struct start *s) {
  return (struct sl_remote){.hosts = &s->nodes->hosts,
                            .program = s->self,
                            .folder = s->folder,
                            .arguments = list_of(&s->arguments),
                            .environment = list_of(&s->environment),
                            .master_addr = s->address,
                            .master_port = (int)s->options->master_port,
                            .ssh_port = (int)s->options->ssh_port};
}

/* --master-addr, or what the first host answers; a dry run asks no host. */
static enum sl_status find_address(struct start *s) {
  const struct sl_options *o = s->options;
  const bool ask = o->master_addr == NULL && s->nodes->remote && !o->dry_run && s->nodes->launcher != SL_NODES_SRUN;
  const struct sl_remote remote = remote_of(s);
  if (ask) return sl_launch_ssh_address(&remote, &s->address);
  s->address = strdup(o->master_addr != NULL ? o->master_addr : s->nodes->hosts.list[0].name);
  return s->address != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: the master address");
}

/* The first host was reachable before, and does not answer now. */
static enum sl_status lose_first(const struct start *s, struct sl_ended *ended) {
  ended->code = 1;
  sl_ended_tell(ended, SL_CAUSE_HOST, -1, s->nodes->hosts.list[0].name, "%s", sl_error_message());
  sl_error_clear();
  return SL_OK;
}

static enum sl_status show_remote(const struct sl_remote *remote, enum sl_nodes_launcher launcher) {
  enum sl_status status = SL_OK;
  const size_t commands = launcher == SL_NODES_SRUN ? 1 : remote->hosts->count;
  for (size_t i = 0; i < commands && status == SL_OK; i++) {
    struct sl_words words = {0};
    status = launcher == SL_NODES_SRUN ? sl_remote_srun(remote, &words) : sl_remote_ssh(remote, i, &words);
    if (status == SL_OK) status = show(&words);
    sl_words_free(&words);
  }
  return status;
}

/* Starts ranks on other hosts; their rendezvous is at the first host. */
static enum sl_status by_hosts(struct start *s, struct sl_ended *ended) {
  const struct sl_nodes *nodes = s->nodes;
  const bool gpu = sl_options_on_gpu(s->options);
  char name[24], port[16];
  if (!s->options->dry_run)
    sl_new_file_name_job(name, sizeof name); /* passed on, so that the hidden files of all ranks have this name */
  if (gpu) {
    const enum sl_status found = find_address(s);
    if (found == SL_ERR_INPUT && ended->again) return lose_first(s, ended);
    SL_TRY(found);
  }
  if (gpu && nodes->launcher != SL_NODES_SSH) {
    snprintf(port, sizeof port, "%lld", (long long)s->options->master_port);
    (void)setenv("MASTER_ADDR", s->address, 1);
    (void)setenv("MASTER_PORT", port, 1);
    sl_words_addf(&s->environment, "MASTER_ADDR=%s", s->address);
    sl_words_addf(&s->environment, "MASTER_PORT=%s", port);
  }
  SL_TRY(sl_nodes_environment(&s->environment));
  if (nodes->launcher == SL_NODES_MPIRUN) return by_mpirun(s, ended);
  if (nodes->launcher == SL_NODES_SSH) sl_words_addf(&s->environment, "%s=1", SL_LEASH_VARIABLE);
  SL_TRY(sl_words_check(&s->environment));
  const struct sl_remote remote = remote_of(s);
  if (s->options->dry_run) return show_remote(&remote, nodes->launcher);
  return nodes->launcher == SL_NODES_SRUN ? sl_launch_srun(&remote, ended) : sl_launch_ssh(&remote, ended);
}

/* ---- this machine ---- */

static enum sl_status show_ranks(const struct start *s, const struct sl_ranks *ranks) {
  enum sl_status status = SL_OK;
  for (int local = 0; local < ranks->here && status == SL_OK; local++) {
    struct sl_words words = {0};
    sl_words_add(&words, "env");
    sl_words_addf(&words, "RANK=%d", ranks->first + local);
    sl_words_addf(&words, "LOCAL_RANK=%d", local);
    sl_words_addf(&words, "WORLD_SIZE=%d", ranks->world);
    sl_words_addf(&words, "LOCAL_WORLD_SIZE=%d", ranks->here);
    sl_words_addf(&words, "MASTER_ADDR=%s", ranks->master_addr != NULL ? ranks->master_addr : "127.0.0.1");
    sl_words_addf(&words, "MASTER_PORT=%d", (int)s->options->master_port);
    if (ranks->devices != NULL) sl_words_addf(&words, "CUDA_VISIBLE_DEVICES=%s", ranks->devices);
    sl_words_add(&words, s->self);
    sl_words_add_all(&words, (const char *const *)list_of(&s->arguments));
    status = sl_words_check(&words);
    if (status == SL_OK) status = show(&words);
    sl_words_free(&words);
  }
  return status;
}

static enum sl_status by_ranks(struct start *s, struct sl_ended *ended) {
  const struct sl_nodes *nodes = s->nodes;
  const bool hosts = nodes->hosts.count > 0;
  const struct sl_host *host = hosts ? &nodes->hosts.list[nodes->node] : NULL;
  char *devices = hosts ? sl_host_slots(host) : NULL;
  if (nodes->by_hand) {
    const enum sl_status status = find_address(s);
    if (status != SL_OK) return free(devices), status;
  }
  const bool fixed = nodes->by_hand || sl_options_given(s->options, "master-port");
  const struct sl_ranks ranks = {.argv = s->options->argv,
                                 .world = (int)s->options->world,
                                 .first = hosts ? sl_hosts_first_rank(&nodes->hosts, nodes->node) : 0,
                                 .here = hosts ? host->count : (int)s->options->world,
                                 .devices = devices,
                                 .master_addr = nodes->by_hand ? s->address : s->options->master_addr,
                                 .master_port = fixed ? (int)s->options->master_port : 0};
  const enum sl_status status = s->options->dry_run ? show_ranks(s, &ranks) : sl_launch_ranks(&ranks, ended);
  free(devices);
  return status;
}

enum sl_status sl_start(const struct sl_nodes *nodes, const struct sl_options *options, struct sl_ended *ended) {
  struct start s = {.nodes = nodes, .options = options};
  enum sl_status status;
  sl_ended_clear(ended);
  SL_TRY(sl_find_self(s.self, sizeof s.self));
  if (getcwd(s.folder, sizeof s.folder) == NULL) return sl_fail(SL_ERR_IO, "the current folder: %s", strerror(errno));
  sl_nodes_arguments(&s.arguments, options->argc, options->argv, ended->again);
  SL_GO(sl_words_check(&s.arguments));
  if (nodes->remote)
    status = by_hosts(&s, ended);
  else if (sl_options_on_gpu(options))
    status = by_ranks(&s, ended);
  else
    status = by_mpirun(&s, ended);
done:
  drop(&s);
  return status;
}
