/* A small cluster with as much memory as a test wants, and what is predicted on it. */
#pragma once

#include <jansson.h>

#include "tests/support/cli_run.h"

/* A node of four GPUs with this much memory each, and host memory and NVMe. */
static inline void write_cluster(double memory_GiB, double host_GiB, double nvme_GiB) {
  char text[1024];
  snprintf(
      text, sizeof text,
      "{\"devices_per_node\": 4, \"host_memory_GiB\": %.9f, \"nvme_GiB\": %.9f, \"device\": {\"name\": \"G\", "
      "\"kind\": \"gpu\", \"memory_GiB\": %.9f, \"peak_TFLOPS\": {\"fp32\": 10, \"bf16\": 100, \"fp16\": 100}, "
      "\"memory_bandwidth_GBps\": 1000, \"context_MiB\": 20, \"host_link_GBps\": 20, \"host_bandwidth_GBps\": "
      "100, \"nvme_read_GBps\": 5, \"nvme_write_GBps\": 5}, \"links\": [{\"bandwidth_GBps\": 100, \"latency_us\": 2}]}",
      host_GiB, nvme_GiB, memory_GiB);
  write_file("cluster.json", text);
}

/* The record of a prediction on that cluster; a new reference. */
static inline json_t *predict(const char *flags) {
  const int status = shardlab(scratch, "predict --cluster cluster.json --quiet --json - %s", flags);
  if (status != 0) fail_msg("%s: status %d: %s", flags, status, err);
  json_t *root = json_loads(out, 0, NULL);
  assert_non_null(root);
  return root;
}

static inline bool fits(const json_t *record) {
  const json_t *value = json_object_get(json_object_get(record, "verdict"), "fits");
  assert_true(json_is_boolean(value));
  return json_is_true(value);
}

static inline double of_verdict(const json_t *record, const char *space, const char *key) {
  const json_t *value = json_object_get(json_object_get(json_object_get(record, "verdict"), space), key);
  assert_true(json_is_integer(value));
  return (double)json_integer_value(value);
}

static inline void write_job(void) {
  write_file("ds.json", "{\"train_micro_batch_size_per_gpu\": 4, \"optimizer\": {\"type\": \"AdamW\"}}");
}
