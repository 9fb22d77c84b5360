/* Built-in clusters (each a cluster.json of profiles/), devices (files of profiles/devices) and kernel sets (files of
 * profiles/kernels), embedded when the library is built. Internal to core/cluster. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct sl_cluster_preset {
  const char *name;
  const char *text; /* the file */
};

/* Each ends with a NULL name; written by cmake/embed.cmake. */
extern const struct sl_cluster_preset sl_cluster_presets[], sl_device_presets[], sl_kernel_presets[];

/* Writes this machine's cores, memory and, per core, memory bandwidth to the cluster.json of "localhost". */
void sl_cluster_preset_localhost(json_t *root);

/* The path of NAME.json in a folder of profiles next to this program, or in share/shardlab/profiles of the prefix under
 * which the program or this library is installed. False if there is no such file. */
bool sl_profile_file(const char *name, char *path, size_t size);
/* The same for a cluster, whose name has no slash. */
bool sl_cluster_preset_file(const char *name, char *path, size_t size);
