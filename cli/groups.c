/* Headings of flags; see groups.h. tests/cli/test_cli_pages.c checks that every flag has one. */
#include "cli/groups.h"

#include <string.h>

/* The flags of each heading, surrounded by blanks. */
static const struct {
  const char *title, *names;
} groups[SL_OPTION_GROUPS] = {
    {"inputs", " model config cluster preset world seq seed strict dtype data tokenizer text-field eod-token val-data "
               "val-split split init table from-megatron from-torchtitan "
               "from-accelerate points nvme-path "},
    {"batch and states", " micro-batch grad-accum train-batch zero-stage shard-size offload-optimizer offload-param "
                         "cpu-checkpointing overlap-param-gather "},
    {"parallelism",
     " tp tp-vocab pp cp cp-comm-type rank-order schedule virtual-stages stages sequence-parallel tp-comm-overlap "},
    {"what is computed", " recompute recompute-modules recompute-every attention kernels "
                         "make-vocab-size-divisible-by tf32 fuse-epilogues "},
    {"does it fit", " device-memory require-fit max-micro-batch min-world max-seq sweep "},
    {"assumptions", " nccl-algo share-links jitter straggler runs no-fold per-rank time-tolerance "},
    {"the run", " backend steps epochs eval-interval eval-iters threads save save-grads checkpoint save-every keep "
                "resume max-restarts hostfile hosts "
                "include exclude num-nodes num-gpus launcher ssh-port master-addr master-port no-ssh node-rank dry-run "
                "allow-nonfinite detect-anomaly poison as-rank of-world quick rounds add jobs "},
    {"output", " json trace out csv lowered svg program rank quiet single to "},
    {"other flags", ""},
};

const char *sl_groups_title(int i) {
  return groups[i].title;
}

int sl_groups_of(const char *name) {
  const size_t length = strlen(name);
  for (int i = 0; i < SL_OPTION_GROUPS - 1; i++)
    for (const char *at = strstr(groups[i].names, name); at != NULL; at = strstr(at + 1, name))
      if (at[-1] == ' ' && at[length] == ' ') return i;
  return SL_OPTION_GROUPS - 1;
}
