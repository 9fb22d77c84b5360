/* Reads and prints a cluster. The tables below are the schema: key, place in the struct, unit, range. Numbers that are
 * not required default to 0, except those of set_defaults. profiles/ has the presets.
 *
 *   {"name": text, "nodes": 0 (as many as the world needs) or more, "devices_per_node": 1 or more,
 *    "device": {"name": text, "kind": "gpu" | "cpu",
 *               "peak_TFLOPS": {"fp32": .., "tf32": .., "bf16": .., "fp16": .., "fp8": .., "fp64": ..}, ...},
 *    or "device": "a100-80g", a file of profiles/devices, which holds {"device": {...}},
 *    "host_slowdown": times of the host, over those of the hosts that kernel sets were fitted on,
 *    "pipeline_stall_us": microseconds of a host per member of a tensor-parallel
 *    collective while a pipeline crosses nodes,
 *    "links": [{"name": text, "span": devices in one unit; the outermost has none,
 *               "latency_us": microseconds of a message, and of a hop of a ring,
 *               "message_us": microseconds of the network per message of a ring (cost/collective.h),
 *               "nccl_hop": "nvlink" | "pcie" | "network", whose protocols NCCL has: latency_us is then that of Simple,
 *               and the others differ from NCCL's own figures as it does (cost/nccl/comm.h), ...}, ...]}
 *
 * For a cpu, peak_TFLOPS is of one core; memory, its bandwidth and the cache are of one node and shared by its ranks.
 * Any number may have siblings "<key>_source" (text) and "<key>_stderr" (a number); see cluster/provenance.h.
 * "op_costs" is a calibrated profile's list of measured ops; see op/measured.h. */
#include "core/cluster/cluster.h"

#include "core/base/checked.h"
#include "core/base/json_get.h"
#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/cluster/numbers.h"
#include "core/cluster/presets.h"
#include "core/cluster/provenance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIB 0x1p30
#define MIB 0x1p20
#define KIB 0x1p10
#define AT(field) offsetof(struct sl_device, field)

static const struct sl_number device_numbers[] = {
    {"memory_GiB", SL_BYTES, AT(memory), GIB, 0.001, 1e6, SL_REQUIRED},
    {"device_memory_GiB", SL_BYTES, AT(device_memory), GIB, 0, 1e6, SL_OPTIONAL},
    {"memory_bandwidth_GBps", SL_REAL, AT(memory_bandwidth), 1e9, 0.001, 1e6, SL_REQUIRED},
    {"gemm_efficiency", SL_REAL, AT(gemm_efficiency), 1, 0.001, 1, SL_OPTIONAL},
    {"gemm_half_GFLOP", SL_REAL, AT(gemm_half_flops), 1e9, 0, 1e6, SL_OPTIONAL},
    {"attention_efficiency", SL_REAL, AT(attention_efficiency), 1, 0.001, 1, SL_OPTIONAL},
    {"elementwise_efficiency", SL_REAL, AT(elementwise_efficiency), 1, 0.001, 1, SL_OPTIONAL},
    {"launch_us", SL_REAL, AT(launch_latency), 1e-6, 0, 1e6, SL_OPTIONAL},
    {"step_overhead_ms", SL_REAL, AT(step_overhead), 1e-3, 0, 1e6, SL_OPTIONAL},
    {"host_link_GBps", SL_REAL, AT(host_link), 1e9, 0, 1e6, SL_OPTIONAL},
    {"host_link_pageable_GBps", SL_REAL, AT(host_link_pageable), 1e9, 0, 1e6, SL_OPTIONAL},
    {"host_bandwidth_GBps", SL_REAL, AT(host_bandwidth), 1e9, 0, 1e6, SL_OPTIONAL},
    {"nvme_read_GBps", SL_REAL, AT(nvme_read), 1e9, 0, 1e6, SL_OPTIONAL},
    {"nvme_write_GBps", SL_REAL, AT(nvme_write), 1e9, 0, 1e6, SL_OPTIONAL},
    {"nvme_read_us", SL_REAL, AT(nvme_read_latency), 1e-6, 0, 1e9, SL_OPTIONAL},
    {"nvme_write_us", SL_REAL, AT(nvme_write_latency), 1e-6, 0, 1e9, SL_OPTIONAL},
    {"cores", SL_COUNT, AT(cores), 1, 1, 1e5, SL_OPTIONAL},
    {"comm_cpu_share", SL_REAL, AT(comm_cpu_share), 1, 0, 0.99, SL_OPTIONAL},
    {"context_MiB", SL_BYTES, AT(context_bytes), MIB, 0, 1e9, SL_OPTIONAL},
    {"communicator_MiB", SL_BYTES, AT(communicator_bytes), MIB, 0, 1e6, SL_OPTIONAL},
    {"cache_MiB", SL_BYTES, AT(cache_bytes), MIB, 0, 1e6, SL_OPTIONAL},
    {"cache_bandwidth_GBps", SL_REAL, AT(cache_bandwidth), 1e9, 0, 1e6, SL_OPTIONAL},
    {"run_noise", SL_REAL, AT(run_noise), 1, 0, 10, SL_OPTIONAL},
    {"run_noise_slope", SL_REAL, AT(run_noise_slope), 1, 0, 0.5, SL_OPTIONAL},
    {"calibration_rounds", SL_COUNT, AT(rounds), 1, 0, 1000, SL_OPTIONAL},
    {"error_scale", SL_REAL, AT(error_scale), 1, 0, 1e6, SL_OPTIONAL},
    {"formula_scatter", SL_REAL, AT(formula_scatter), 1, 0, 10, SL_OF_KERNELS},
    {"installation_scatter", SL_REAL, AT(installation_scatter), 1, 0, 10, SL_OF_KERNELS},
    {"sm_count", SL_COUNT, AT(sm_count), 1, 0, 1e5, SL_OF_KERNELS},
    {"compute_capability", SL_REAL_OR_0, AT(compute_capability), 1, 1, 100, SL_OF_KERNELS},
    {"batched_gemm_efficiency", SL_REAL_OR_0, AT(batched_gemm_efficiency), 1, 0.001, 1, SL_OF_KERNELS},
    {"unaligned_gemm_slowdown", SL_REAL_OR_0, AT(unaligned_gemm_slowdown), 1, 1, 100, SL_OF_KERNELS},
    {"odd_gemm_slowdown", SL_REAL_OR_0, AT(odd_gemm_slowdown), 1, 1, 100, SL_OF_KERNELS},
    {"flash1_forward_efficiency", SL_REAL_OR_0, AT(flash_efficiency[SL_FLASH_1][0]), 1, 0.001, 1, SL_OF_KERNELS},
    {"flash1_backward_efficiency", SL_REAL_OR_0, AT(flash_efficiency[SL_FLASH_1][1]), 1, 0.001, 1, SL_OF_KERNELS},
    {"flash2_forward_efficiency", SL_REAL_OR_0, AT(flash_efficiency[SL_FLASH_2][0]), 1, 0.001, 1, SL_OF_KERNELS},
    {"flash2_backward_efficiency", SL_REAL_OR_0, AT(flash_efficiency[SL_FLASH_2][1]), 1, 0.001, 1, SL_OF_KERNELS},
    {"flash3_forward_efficiency", SL_REAL_OR_0, AT(flash_efficiency[SL_FLASH_3][0]), 1, 0.001, 1, SL_OF_KERNELS},
    {"flash3_backward_efficiency", SL_REAL_OR_0, AT(flash_efficiency[SL_FLASH_3][1]), 1, 0.001, 1, SL_OF_KERNELS},
    {"cudnn_forward_efficiency", SL_REAL_OR_0, AT(flash_efficiency[SL_FLASH_CUDNN][0]), 1, 0.001, 1, SL_OF_KERNELS},
    {"cudnn_backward_efficiency", SL_REAL_OR_0, AT(flash_efficiency[SL_FLASH_CUDNN][1]), 1, 0.001, 1, SL_OF_KERNELS},
    {"flash_half_tokens", SL_REAL, AT(flash_half_tokens), 1, 0, 1e6, SL_OF_KERNELS},
};
#undef AT

/* More than all of the bandwidth is had where that is what NCCL counts: 240 GB/s of an A100's 300. */
#define MOST_SHARE 1.25

static const struct sl_number link_numbers[] = {
    {"bandwidth_GBps", SL_REAL, offsetof(struct sl_link, bandwidth), 1e9, 1e-6, 1e6, SL_REQUIRED},
    {"latency_us", SL_REAL, offsetof(struct sl_link, latency), 1e-6, 0, 1e6, SL_REQUIRED},
    {"message_us", SL_REAL, offsetof(struct sl_link, message), 1e-6, 0, 1e6, SL_OPTIONAL},
    {"half_KiB", SL_REAL, offsetof(struct sl_link, half_bytes), KIB, 0, 1e9, SL_OPTIONAL},
    {"bandwidth_share", SL_REAL, offsetof(struct sl_link, bandwidth_share), 1, 0.001, MOST_SHARE, SL_OPTIONAL},
    {"bandwidth_decay", SL_REAL, offsetof(struct sl_link, bandwidth_decay), 1, 0, 1, SL_OPTIONAL},
};

static const struct sl_number cluster_numbers[] = {
    {"host_slowdown", SL_REAL, offsetof(struct sl_cluster, host_slowdown), 1, 0.01, 100, SL_OPTIONAL},
    {"pipeline_stall_us", SL_REAL, offsetof(struct sl_cluster, pipeline_stall), 1e-6, 0, 1e6, SL_OPTIONAL},
    {"host_memory_GiB", SL_BYTES, offsetof(struct sl_cluster, host_memory), GIB, 0, 1e6, SL_OPTIONAL},
    {"nvme_GiB", SL_BYTES, offsetof(struct sl_cluster, nvme), GIB, 0, 1e9, SL_OPTIONAL},
};

static const enum sl_dtype peak_types[] = {SL_F32, SL_TF32, SL_BF16, SL_F16, SL_F8, SL_F64};

#define LENGTH(table) (sizeof(table) / sizeof *(table))

static const char *const device_words[] = {"name", "kind", "peak_TFLOPS"};
_Static_assert(LENGTH(device_words) + LENGTH(device_numbers) <= SL_MAX_KEYS, "the object with the most keys");

enum { MAX_DEVICES = 32 };

/* A name, which goes to terminals. */
static enum sl_status read_name(const struct sl_json_object *in, const char *key, char *out, size_t size) {
  SL_TRY(sl_json_get_text(in, key, out, size));
  if (strcmp(sl_printable_of(out).text, out) == 0) return SL_OK;
  return sl_json_get_fail(in, key, "text without control characters");
}

static enum sl_status read_peak(const struct sl_json_object *device, struct sl_device *out, json_t *annotations) {
  const char *names[LENGTH(peak_types)], *of_all = sl_annotation_source(annotations, "device.peak_TFLOPS");
  for (size_t i = 0; i < LENGTH(peak_types); i++) names[i] = sl_dtype_name(peak_types[i]);
  const struct sl_json_object in = {device->doc, sl_json_get(device, "peak_TFLOPS"), "device.peak_TFLOPS"};
  if (!json_is_object(in.object)) return sl_json_get_fail(device, "peak_TFLOPS", "an object {\"fp32\": TFLOPS, ...}");
  SL_TRY(sl_numbers_check_keys(&in, names, LENGTH(peak_types), NULL, 0, annotations));
  if (sl_json_get(&in, "fp32") == NULL) return sl_json_get_fail(&in, "fp32", "a number from 1e-06 to 1e+06");
  for (size_t i = 0; i < LENGTH(peak_types); i++) {
    double tera = 0; /* 0: the device does not compute in this type */
    SL_TRY(sl_json_get_real(&in, names[i], 1e-6, 1e6, &tera));
    out->peak[peak_types[i]] = tera * 1e12;
    if (tera > 0) sl_numbers_note(&in, names[i], tera, of_all != NULL ? of_all : sl_no_source, annotations);
  }
  return SL_OK;
}

static enum sl_status read_device_object(const struct sl_json_object *top, struct sl_device *device,
                                         json_t *annotations) {
  const struct sl_json_object in = {top->doc, sl_json_get(top, "device"), "device"};
  if (!json_is_object(in.object)) return sl_json_get_fail(top, "device", "an object");
  SL_TRY(sl_numbers_check_keys(&in, device_words, LENGTH(device_words), device_numbers, LENGTH(device_numbers),
                               annotations));
  char kind[8] = "";
  SL_TRY(read_name(&in, "name", device->name, sizeof device->name));
  SL_TRY(sl_json_get_text(&in, "kind", kind, sizeof kind));
  if (strcmp(kind, "gpu") != 0 && strcmp(kind, "cpu") != 0) return sl_json_get_fail(&in, "kind", "\"gpu\" or \"cpu\"");
  device->kind = kind[0] == 'g' ? SL_DEVICE_GPU : SL_DEVICE_CPU;
  SL_TRY(read_peak(&in, device, annotations));
  SL_TRY(sl_numbers_read(&in, device_numbers, LENGTH(device_numbers), device, annotations));
  if (device->kind == SL_DEVICE_CPU && device->cores < 1)
    return sl_json_get_fail(&in, "cores", "the cores of one node, from 1 to 100000");
  if (device->cache_bytes > 0 && !(device->cache_bandwidth > 0))
    return sl_json_get_fail(&in, "cache_bandwidth_GBps", "more than 0, since cache_MiB is given");
  return SL_OK;
}

static enum sl_status unknown_device(const struct sl_json_object *top) {
  const char *names[MAX_DEVICES];
  char list[512] = "";
  size_t n = 0;
  for (; sl_device_presets[n].name != NULL && n < MAX_DEVICES; n++) {
    names[n] = sl_device_presets[n].name;
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", n > 0 ? ", " : "", names[n]);
  }
  const char *near = sl_nearest(json_string_value(sl_json_get(top, "device")), names, n);
  return sl_json_get_fail(top, "device", "an object or one of %s%s%s%s", list, near != NULL ? "; did you mean \"" : "",
                          near != NULL ? near : "", near != NULL ? "\"?" : "");
}

/* Reads a device given in place, or by the name of a file that clusters share. */
static enum sl_status read_device(const struct sl_json_object *top, struct sl_device *device, json_t *annotations) {
  const char *name = json_string_value(sl_json_get(top, "device"));
  if (name == NULL) return read_device_object(top, device, annotations);
  for (int i = 0; sl_device_presets[i].name != NULL; i++) {
    struct sl_json doc;
    if (strcmp(sl_device_presets[i].name, name) != 0) continue;
    SL_TRY(sl_json_parse(&doc, name, sl_device_presets[i].text, strlen(sl_device_presets[i].text)));
    const enum sl_status status = read_device_object(&(struct sl_json_object){&doc, doc.root, ""}, device, annotations);
    sl_json_free(&doc);
    return status;
  }
  return unknown_device(top);
}

static const char *const hops[SL_HOP_COUNT] = {"", "nvlink", "pcie", "network"};

static enum sl_status read_hop(const struct sl_json_object *in, enum sl_hop *hop) {
  char word[16] = "";
  SL_TRY(sl_json_get_text(in, "nccl_hop", word, sizeof word));
  for (int i = 0; i < SL_HOP_COUNT; i++)
    if (strcmp(word, hops[i]) == 0) *hop = (enum sl_hop)i;
  if (strcmp(word, hops[*hop]) == 0) return SL_OK;
  return sl_json_get_fail(in, "nccl_hop", "\"nvlink\", \"pcie\" or \"network\"");
}

static enum sl_status read_link(struct sl_cluster *cluster, const struct sl_json_object *in, bool outermost) {
  static const char *const words[] = {"name", "span", "nccl_hop"};
  struct sl_link *link = &cluster->link[cluster->n_link];
  if (!json_is_object(in->object)) return sl_json_fail(in->doc, in->path, "expected an object");
  SL_TRY(sl_numbers_check_keys(in, words, LENGTH(words), link_numbers, LENGTH(link_numbers), cluster->annotations));
  snprintf(link->name, sizeof link->name, "link %d", cluster->n_link);
  link->bandwidth_share = 1;
  SL_TRY(read_name(in, "name", link->name, sizeof link->name));
  SL_TRY(sl_numbers_read(in, link_numbers, LENGTH(link_numbers), link, cluster->annotations));
  SL_TRY(read_hop(in, &link->hop));
  if (link->message > 0 && link->hop != SL_HOP_NETWORK)
    return sl_json_get_fail(in, "message_us",
                            "0 in a link that is no \"nccl_hop\": \"network\": only its rings pass "
                            "messages one by one");
  link->span = INT64_MAX;
  SL_TRY(sl_json_get_int(in, "span", 1, INT32_MAX, &link->span));
  const int64_t inner = cluster->n_link > 0 ? cluster->link[cluster->n_link - 1].span : 1;
  const int64_t all = sl_product(cluster->nodes, cluster->devices_per_node); /* 0: no limit */
  if (!outermost && link->span == INT64_MAX)
    return sl_json_get_fail(in, "span", "a number of devices; only the outermost link may have none");
  if (outermost && link->span != INT64_MAX && (all == 0 || link->span < all))
    return sl_json_get_fail(in, "span", "none in the outermost link, or all devices of the cluster");
  if (link->span != INT64_MAX && (link->span % inner != 0 || (cluster->n_link > 0 && link->span == inner)))
    return sl_json_get_fail(in, "span", "a multiple of the span inside it, %lld, and more", (long long)inner);
  const int64_t node = cluster->devices_per_node;
  if (link->span != INT64_MAX && node % link->span != 0 && link->span % node != 0)
    return sl_json_get_fail(in, "span", "a divisor or a multiple of devices_per_node, %lld", (long long)node);
  cluster->n_link++;
  return SL_OK;
}

static enum sl_status read_links(const struct sl_json_object *top, struct sl_cluster *cluster) {
  const json_t *links = sl_json_get(top, "links");
  const size_t n = json_array_size(links);
  if (n < 1 || n > SL_MAX_LINKS)
    return sl_json_get_fail(top, "links", "a list of 1 to %d links, the innermost first", SL_MAX_LINKS);
  for (size_t i = 0; i < n; i++) {
    char path[16];
    snprintf(path, sizeof path, "links[%zu]", i);
    const struct sl_json_object in = {top->doc, json_array_get(links, i), path};
    SL_TRY(read_link(cluster, &in, i + 1 == n));
  }
  return SL_OK;
}

/* Defaults of what data sheets do not state. */
static void set_defaults(struct sl_cluster *cluster) {
  memset(cluster, 0, sizeof *cluster);
  cluster->devices_per_node = 1;
  cluster->host_slowdown = 1;
  cluster->device.gemm_efficiency = 0.8;
  cluster->device.attention_efficiency = 0.4;
  cluster->device.elementwise_efficiency = 0.8;
}

static enum sl_status read_cluster(struct sl_cluster *cluster, const struct sl_json *doc) {
  static const char *const words[] = {"name", "nodes", "devices_per_node", "device", "links", "framework", "op_costs"};
  const struct sl_json_object in = {doc, doc->root, ""};
  if (!json_is_object(doc->root)) return sl_json_fail(doc, "", "expected a JSON object");
  SL_TRY(
      sl_numbers_check_keys(&in, words, LENGTH(words), cluster_numbers, LENGTH(cluster_numbers), cluster->annotations));
  snprintf(cluster->name, sizeof cluster->name, "cluster");
  SL_TRY(read_name(&in, "name", cluster->name, sizeof cluster->name));
  SL_TRY(sl_json_get_text(&in, "framework", cluster->framework, sizeof cluster->framework));
  SL_TRY(sl_json_get_int(&in, "nodes", 0, 1000000, &cluster->nodes));
  SL_TRY(sl_json_get_int(&in, "devices_per_node", 1, 100000, &cluster->devices_per_node));
  SL_TRY(sl_numbers_read(&in, cluster_numbers, LENGTH(cluster_numbers), cluster, cluster->annotations));
  SL_TRY(read_device(&in, &cluster->device, cluster->annotations));
  SL_TRY(read_links(&in, cluster));
  return sl_op_costs_read(&cluster->op_costs, doc, sl_json_get(&in, "op_costs"));
}

enum sl_status sl_cluster_from_json(struct sl_cluster *cluster, const struct sl_json *doc) {
  set_defaults(cluster);
  cluster->annotations = json_object();
  const enum sl_status status = cluster->annotations != NULL
                                    ? read_cluster(cluster, doc)
                                    : sl_fail(SL_ERR_MEMORY, "out of memory: the annotations of a cluster");
  if (status != SL_OK) sl_cluster_free(cluster);
  return status;
}

double sl_device_copy_rate(const struct sl_device *device, unsigned flags) {
  return (flags & SL_OP_PAGEABLE) && device->host_link_pageable > 0 ? device->host_link_pageable : device->host_link;
}

double sl_device_run_noise(const struct sl_device *device, double step_s) {
  static const double of_length_s = 0.1, least = 0.005;
  if (!(device->run_noise > 0) || !(step_s > 0)) return device->run_noise;
  return fmax(least, device->run_noise * pow(step_s / of_length_s, -device->run_noise_slope));
}

double sl_device_median_noise(const struct sl_device *device, double step_s, int64_t n) {
  const double pi = 3.14159265358979;
  return sl_device_run_noise(device, step_s) * sqrt(pi / (2 * fmax(1, (double)n) + pi - 2));
}

void sl_cluster_resize_nodes(struct sl_cluster *cluster, int64_t devices) {
  const int64_t old = cluster->devices_per_node;
  cluster->devices_per_node = devices;
  for (int i = 0; i < cluster->n_link; i++) {
    int64_t *span = &cluster->link[i].span;
    if (*span < old)
      *span = sl_common_divisor(*span, devices);
    else if (*span != INT64_MAX && (*span == old || devices < old))
      *span = *span / old * devices;
  }
}

void sl_cluster_align(struct sl_cluster *cluster, int64_t world) {
  const int64_t devices = cluster->devices_per_node, nodes = world / devices;
  int64_t inner = devices;
  for (int i = 0; i < cluster->n_link && world % devices == 0; i++) {
    int64_t *span = &cluster->link[i].span, most = *span / devices, together = most;
    if (*span <= devices || *span == INT64_MAX) continue;
    while (world > *span && together > 1 && (nodes % together != 0 || together * devices % inner != 0)) together--;
    *span = 2 * together >= most ? together * devices : *span - *span % inner;
    inner = *span;
  }
}

void sl_cluster_free(struct sl_cluster *cluster) {
  sl_op_costs_free(&cluster->op_costs);
  json_decref(cluster->annotations);
  cluster->annotations = NULL;
}

/* Reads the parsed document and frees it. */
static enum sl_status from_document(struct sl_cluster *cluster, struct sl_json *doc) {
  const enum sl_status status = sl_cluster_from_json(cluster, doc);
  sl_json_free(doc);
  return status;
}

static enum sl_status load_preset(struct sl_cluster *cluster, const struct sl_cluster_preset *preset) {
  struct sl_json doc;
  SL_TRY(sl_json_parse(&doc, preset->name, preset->text, strlen(preset->text)));
  if (strcmp(preset->name, "localhost") == 0) sl_cluster_preset_localhost(doc.root);
  return from_document(cluster, &doc);
}

/* The preset that `spec` names, or else the first one with the device of that name. Presets named after products come
 * before those of installations. */
static const struct sl_cluster_preset *find_preset(const char *spec) {
  char device[80];
  for (int i = 0; sl_cluster_presets[i].name != NULL; i++)
    if (strcmp(spec, sl_cluster_presets[i].name) == 0) return &sl_cluster_presets[i];
  bool known = false;
  for (int i = 0; sl_device_presets[i].name != NULL; i++) known |= strcmp(spec, sl_device_presets[i].name) == 0;
  snprintf(device, sizeof device, "\"device\": \"%s\"", spec);
  for (int i = 0; known && sl_cluster_presets[i].name != NULL; i++)
    if (strstr(sl_cluster_presets[i].text, device) != NULL) return &sl_cluster_presets[i];
  return NULL;
}

bool sl_cluster_is_known(const char *spec) {
  char path[4096];
  if (find_preset(spec) != NULL) return true;
  return sl_json_is_text(spec) || access(spec, F_OK) == 0 || sl_cluster_preset_file(spec, path, sizeof path);
}

enum sl_status sl_cluster_load(struct sl_cluster *cluster, const char *spec) {
  const struct sl_cluster_preset *preset = find_preset(spec);
  if (preset != NULL) return load_preset(cluster, preset);
  char path[4096];
  const bool beside = !sl_json_is_text(spec) && access(spec, F_OK) != 0;
  if (beside && !sl_cluster_preset_file(spec, path, sizeof path))
    return sl_nearest_preset("cluster", spec, sl_cluster_preset_name);
  struct sl_json doc;
  SL_TRY(sl_json_open(&doc, "--cluster", beside ? path : spec));
  return from_document(cluster, &doc);
}

const char *sl_cluster_preset_name(int i) {
  int count = 0;
  while (sl_cluster_presets[count].name != NULL) count++;
  return i >= 0 && i < count ? sl_cluster_presets[i].name : NULL;
}

/* Devices of a unit are numbered consecutively, so a unit that contains the first and the last member contains them
 * all. */
const struct sl_link *sl_cluster_link(const struct sl_cluster *cluster, int64_t first, int64_t stride, int64_t count) {
  const int64_t last = count > 1 ? first + (count - 1) * stride : first;
  int level = 0;
  while (level + 1 < cluster->n_link && first / cluster->link[level].span != last / cluster->link[level].span) level++;
  return &cluster->link[level];
}

static json_t *link_json(const struct sl_cluster *cluster, int i) {
  const struct sl_link *link = &cluster->link[i];
  json_t *object = json_pack("{s:s}", "name", link->name);
  char path[24];
  snprintf(path, sizeof path, "links[%d]", i);
  if (link->span != INT64_MAX) json_object_set_new(object, "span", json_integer(link->span));
  if (link->hop != SL_HOP_PLAIN) json_object_set_new(object, "nccl_hop", json_string(hops[link->hop]));
  sl_numbers_dump(object, link_numbers, LENGTH(link_numbers), link, false);
  return sl_annotation_join(cluster->annotations, path, object);
}

json_t *sl_cluster_to_json(const struct sl_cluster *cluster) {
  const struct sl_device *d = &cluster->device;
  json_t *peak = json_object(), *links = json_array();
  for (size_t i = 0; i < LENGTH(peak_types); i++)
    if (d->peak[peak_types[i]] > 0)
      json_object_set_new(peak, sl_dtype_name(peak_types[i]), json_real(d->peak[peak_types[i]] / 1e12));
  peak = sl_annotation_join(cluster->annotations, "device.peak_TFLOPS", peak);
  json_t *device = json_pack("{s:s, s:s, s:o}", "name", d->name, "kind", d->kind == SL_DEVICE_CPU ? "cpu" : "gpu",
                             "peak_TFLOPS", peak);
  sl_numbers_dump(device, device_numbers, LENGTH(device_numbers), d, d->sm_count > 0);
  device = sl_annotation_join(cluster->annotations, "device", device);
  for (int i = 0; i < cluster->n_link; i++) json_array_append_new(links, link_json(cluster, i));
  json_t *top = json_pack("{s:s, s:I, s:I, s:o, s:o}", "name", cluster->name, "nodes", (json_int_t)cluster->nodes,
                          "devices_per_node", (json_int_t)cluster->devices_per_node, "device", device, "links", links);
  if (cluster->framework[0] != '\0') json_object_set_new(top, "framework", json_string(cluster->framework));
  sl_numbers_dump(top, cluster_numbers, LENGTH(cluster_numbers), cluster, true);
  if (cluster->op_costs.count > 0) json_object_set_new(top, "op_costs", sl_op_costs_json(&cluster->op_costs));
  return sl_annotation_join(cluster->annotations, "", top);
}
