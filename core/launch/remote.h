/* The commands that start the ranks of a job on its hosts, as words: ssh to each host, or srun for all. (Those of
 * mpirun are in cli/mpirun.h, with what else we ask of it.)
 *
 * By ssh each host runs this program as one node of the job: `--no-ssh --node-rank I --hosts LIST --master-addr A
 * --master-port P` after the user's own words. The host's login shell gets a single word, quoted for a POSIX shell,
 * which changes to the caller's folder and execs the program, so that no other process is between sshd and it. */
#pragma once

#include "core/launch/hosts.h"
#include "core/launch/words.h"

struct sl_remote {
  const struct sl_hosts *hosts;
  const char *program, *folder; /* absolute; the same on every host */
  char *const *arguments;       /* of the program, NULL-terminated; without the flags that say where its ranks run */
  char *const *environment;     /* NAME=VALUE of the program, NULL-terminated */
  const char *master_addr;
  int master_port;
  int ssh_port;        /* 0: ssh's own setting for the host */
  const char *ssh_log; /* a file for ssh's own messages; NULL: standard error */
};

/* ssh's options before the name of a host: it asks no questions, and gives up on a host that does not respond for 15
 * s. */
void sl_remote_ssh_options(const struct sl_remote *remote, struct sl_words *words);
/* ssh to host `node`. Errors: SL_ERR_MEMORY. */
enum sl_status sl_remote_ssh(const struct sl_remote *remote, size_t node, struct sl_words *words);
/* ssh to the first host to ask for its addresses; the first address becomes the master address, as in DeepSpeed. */
enum sl_status sl_remote_ssh_address(const struct sl_remote *remote, struct sl_words *words);
/* srun, once for all. Errors: SL_ERR_INPUT if hosts have different numbers of slots; SL_ERR_MEMORY. */
enum sl_status sl_remote_srun(const struct sl_remote *remote, struct sl_words *words);
