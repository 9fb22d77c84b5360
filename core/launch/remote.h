/* The commands that start the ranks of a job on its hosts, as words: ssh to each host, or srun for all. (mpirun's own stand with
 * what else we ask of it, cli/mpirun.h.)
 *
 * By ssh each host runs this program as the job's node: `--no-ssh --node-rank I --hosts LIST --master-addr A --master-port P`
 * behind the user's own words. Its login shell reads one word, quoted for a POSIX shell, which changes to the folder of the
 * caller and becomes the program, so that nothing stands between sshd and it. */
#pragma once

#include "core/launch/hosts.h"
#include "core/launch/words.h"

struct sl_remote {
  const struct sl_hosts *hosts;
  const char *program, *folder; /* absolute; the same on every host */
  char *const *arguments;       /* of the program, NULL behind; without the flags that say where its ranks go */
  char *const *environment;     /* NAME=VALUE of the program, NULL behind */
  const char *master_addr;
  int master_port;
  int ssh_port;        /* 0: as ssh has it for the host */
  const char *ssh_log; /* a file for what ssh itself says; NULL: standard error */
};

/* ssh's own words before the name of a host: no question is asked, and a host that says nothing for 15 s is gone. */
void sl_remote_ssh_options(const struct sl_remote *remote, struct sl_words *words);
/* ssh to host `node`. Errors: SL_ERR_MEMORY. */
enum sl_status sl_remote_ssh(const struct sl_remote *remote, size_t node, struct sl_words *words);
/* ssh to the first host for its addresses, the first of which becomes the master address, as DeepSpeed asks for it. */
enum sl_status sl_remote_ssh_address(const struct sl_remote *remote, struct sl_words *words);
/* srun, once for all. Errors: SL_ERR_INPUT where hosts have different numbers of slots; SL_ERR_MEMORY. */
enum sl_status sl_remote_srun(const struct sl_remote *remote, struct sl_words *words);
