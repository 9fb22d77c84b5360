/* Builds commands of ssh and srun; see remote.h. */
#include "core/launch/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sl_remote_ssh_options(const struct sl_remote *remote, struct sl_words *words) {
  static const char *const options[] = {"-o", "BatchMode=yes",
                                        "-o", "ConnectTimeout=15",
                                        "-o", "ServerAliveInterval=5",
                                        "-o", "ServerAliveCountMax=3",
                                        "-o", NULL};
  sl_words_add_all(words, options);
  /* the file can take all messages */
  sl_words_add(words, remote->ssh_log != NULL ? "LogLevel=INFO" : "LogLevel=ERROR");
  if (remote->ssh_port > 0) sl_words_add(words, "-p"), sl_words_addf(words, "%d", remote->ssh_port);
}

static void add_ssh(const struct sl_remote *remote, size_t node, struct sl_words *words) {
  sl_words_add(words, "ssh");
  sl_remote_ssh_options(remote, words);
  if (remote->ssh_log != NULL) sl_words_add(words, "-E"), sl_words_add(words, remote->ssh_log);
  sl_words_add(words, remote->hosts->list[node].name);
}

/* "cd FOLDER && export ENVIRONMENT && exec PROGRAM ...", as one line for the node's shell; owned by the caller, NULL if
 * out of memory. */
static char *node_line(const struct sl_remote *remote, const struct sl_words *command) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  fputs("cd ", out);
  sl_words_quote(remote->folder, out);
  for (char *const *pair = remote->environment; *pair != NULL; pair++) {
    fputs(pair == remote->environment ? " && export " : " ", out);
    sl_words_quote(*pair, out);
  }
  fputs(" && exec", out);
  for (size_t i = 0; i < command->count; i++) {
    fputc(' ', out);
    sl_words_quote(command->list[i], out);
  }
  return fclose(out) == 0 ? text : NULL;
}

/* The words of the program as node `node` of the job. */
static enum sl_status node_command(const struct sl_remote *remote, size_t node, struct sl_words *words) {
  char *hosts = sl_hosts_print(remote->hosts);
  if (hosts == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the list of hosts");
  sl_words_add(words, remote->program);
  sl_words_add_all(words, (const char *const *)remote->arguments);
  sl_words_add(words, "--no-ssh");
  sl_words_addf(words, "--node-rank=%zu", node);
  sl_words_addf(words, "--hosts=%s", hosts);
  sl_words_addf(words, "--master-addr=%s", remote->master_addr);
  sl_words_addf(words, "--master-port=%d", remote->master_port);
  free(hosts);
  return sl_words_check(words);
}

enum sl_status sl_remote_ssh(const struct sl_remote *remote, size_t node, struct sl_words *words) {
  struct sl_words command = {0};
  const enum sl_status status = node_command(remote, node, &command);
  char *line = status == SL_OK ? node_line(remote, &command) : NULL;
  sl_words_free(&command);
  SL_TRY(status);
  if (line == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the command of a host");
  add_ssh(remote, node, words);
  sl_words_add(words, line);
  free(line);
  return sl_words_check(words);
}

enum sl_status sl_remote_ssh_address(const struct sl_remote *remote, struct sl_words *words) {
  add_ssh(remote, 0, words);
  sl_words_add(words, "hostname");
  sl_words_add(words, "-I");
  return sl_words_check(words);
}

enum sl_status sl_remote_srun(const struct sl_remote *remote, struct sl_words *words) {
  const struct sl_hosts *hosts = remote->hosts;
  char names[1 << 16] = "";
  size_t used = 0;
  for (size_t i = 0; i < hosts->count; i++) {
    const struct sl_host *host = &hosts->list[i];
    if (host->count != hosts->list[0].count)
      return sl_fail(SL_ERR_INPUT, "--launcher: srun requires same number of slots per node; %s has %d, %s has %d",
                     hosts->list[0].name, hosts->list[0].count, host->name, host->count);
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? "," : "", host->name);
    if (used >= sizeof names)
      return sl_fail(SL_ERR_INPUT, "--launcher: the names of %zu hosts are too long for srun's command line",
                     hosts->count);
  }
  sl_words_add(words, "srun");
  sl_words_addf(words, "--nodes=%zu", hosts->count);
  sl_words_addf(words, "--ntasks=%d", sl_hosts_ranks(hosts));
  sl_words_addf(words, "--ntasks-per-node=%d", hosts->list[0].count);
  sl_words_addf(words, "--nodelist=%s", names);
  sl_words_addf(words, "--chdir=%s", remote->folder);
  sl_words_add(words, "--kill-on-bad-exit=1");
  sl_words_add(words, "--export=ALL");
  sl_words_add(words, remote->program);
  sl_words_add_all(words, (const char *const *)remote->arguments);
  return sl_words_check(words);
}
