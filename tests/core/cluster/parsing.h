/* A cluster file's text as tests read it. */
#pragma once

#include "core/cluster/cluster.h"

#include <string.h>

static inline enum sl_status parse(struct sl_cluster *cluster, const char *text) {
  struct sl_json doc;
  enum sl_status status = sl_json_parse(&doc, "c.json", text, strlen(text));
  if (status != SL_OK) return status;
  status = sl_cluster_from_json(cluster, &doc);
  sl_json_free(&doc);
  return status;
}
