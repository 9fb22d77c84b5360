/* Any text as a cluster.json: what loads has finite numbers, a link for every group, and a dump that loads again. */
#include "core/cluster/cluster.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const struct sl_cluster *cluster) {
  const int64_t devices = cluster->devices_per_node * (cluster->nodes > 0 ? cluster->nodes : 3);
  const struct sl_link *link = sl_cluster_link(cluster, 0, 1, devices);
  if (!isfinite(link->bandwidth) || !(link->bandwidth > 0) || !isfinite(link->latency) || link->span < 1) abort();
  if (cluster->device.memory < 1 || !(cluster->device.peak[SL_F32] > 0)) abort();
  json_t *dump = sl_cluster_to_json(cluster);
  char *text = json_dumps(dump, 0);
  struct sl_json doc;
  struct sl_cluster again;
  if (text == NULL || sl_json_parse(&doc, "dump", text, strlen(text)) != SL_OK) abort();
  if (sl_cluster_from_json(&again, &doc) != SL_OK || again.n_link != cluster->n_link) abort();
  if (again.op_costs.count != cluster->op_costs.count) abort();
  sl_cluster_free(&again);
  sl_json_free(&doc);
  free(text);
  json_decref(dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct sl_json doc;
  struct sl_cluster cluster;
  if (sl_json_parse(&doc, "fuzz", (const char *)bytes, size) == SL_OK) {
    if (sl_cluster_from_json(&cluster, &doc) == SL_OK) {
      check(&cluster);
      sl_cluster_free(&cluster);
    }
    sl_json_free(&doc);
  }
  sl_error_clear();
  return 0;
}
