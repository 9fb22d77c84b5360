/* Built-in clusters, each a cluster.json. Internal to core/cluster*.c. */
#ifndef SL_CORE_CLUSTER_PRESETS_H
#define SL_CORE_CLUSTER_PRESETS_H

#include <stddef.h>

struct sl_cluster_preset {
  const char *name;
  const char *text; /* the cluster.json; NULL for localhost, whose text sl_cluster_localhost writes */
};

extern const struct sl_cluster_preset sl_cluster_presets[]; /* ends with a NULL name */

/* The cluster.json of this machine: its cores, its memory, and guesses for the rest. */
void sl_cluster_localhost(char *out, size_t size);

#endif
