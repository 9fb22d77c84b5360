/* label: unit
 * Clusters: presets, units, and the link of a group. */
#include "core/cluster/cluster.h"
#include "tests/support/cluster_sources.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/core/cluster/parsing.h"

static void near(double got, double want) {
  if (!(fabs(got - want) <= 1e-12 * fabs(want))) fail_msg("%.17g, expected %.17g", got, want);
}

/* Two nodes of 12, three levels; every number odd. */
static const char three_levels[] =
    "{\"name\":\"odd\",\"framework\":\"its own\",\"nodes\":2,\"devices_per_node\":12,\n"
    " \"device\":{\"name\":\"d\",\"kind\":\"gpu\",\"memory_GiB\":2.5,\"memory_GiB_source\":\"data sheet\",\n"
    "  \"peak_TFLOPS\":{\"fp32\":3,\"bf16\":7,\"bf16_source\":\"guess\"},\"peak_TFLOPS_source\":\"guess\",\n"
    "  "
    "\"memory_bandwidth_GBps\":11,\"gemm_half_GFLOP\":0.5,\"launch_us\":3,\"step_overhead_ms\":13,\"context_MiB\":17,"
    "\"communicator_MiB\":5,\n"
    "  \"cache_MiB\":0.5,\"cache_bandwidth_GBps\":19},\n"
    " \"links\":[{\"name\":\"pair\",\"span\":3,\"bandwidth_GBps\":5,\"latency_us\":2,\"half_KiB\":3},\n"
    "  {\"name\":\"board\",\"span\":12,\"bandwidth_GBps\":4,\"latency_us\":0},\n"
    "  {\"bandwidth_GBps\":1.5,\"latency_us\":7}]}";

static void units_become_si(void **state) {
  (void)state;
  struct sl_cluster c;
  assert_int_equal(parse(&c, three_levels), SL_OK);
  assert_string_equal(c.name, "odd");
  assert_string_equal(c.framework, "its own");
  assert_int_equal(c.device.memory, 2684354560);
  near(c.device.peak[SL_F32], 3e12);
  near(c.device.peak[SL_BF16], 7e12);
  assert_true(c.device.peak[SL_F16] == 0); /* not given: not computed in */
  near(c.device.memory_bandwidth, 11e9);
  near(c.device.gemm_half_flops, 5e8);
  near(c.device.launch_latency, 3e-6);
  near(c.device.step_overhead, 13e-3);
  assert_int_equal(c.device.context_bytes, 17 << 20);
  assert_int_equal(c.device.communicator_bytes, 5 << 20);
  assert_int_equal(c.device.cache_bytes, 1 << 19);
  near(c.device.cache_bandwidth, 19e9);
  near(c.device.gemm_efficiency, 0.8);
  assert_int_equal(c.n_link, 3);
  near(c.link[0].bandwidth, 5e9);
  near(c.link[0].latency, 2e-6);
  near(c.link[0].half_bytes, 3072);
  assert_string_equal(c.link[2].name, "link 2");
  sl_cluster_free(&c);
}

static void a_group_gets_the_link_it_spans(void **state) {
  (void)state;
  struct sl_cluster c;
  assert_int_equal(parse(&c, three_levels), SL_OK);
  static const struct {
    int64_t first, stride, count;
    int level;
  } groups[] = {{0, 1, 3, 0},  {3, 1, 3, 0},  {2, 1, 2, 1},  {0, 3, 4, 1},  {0, 1, 12, 1}, {12, 1, 12, 1},
                {0, 12, 2, 2}, {11, 1, 2, 2}, {0, 1, 24, 2}, {17, 1, 1, 0}, {0, 1, 48, 2}};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    assert_ptr_equal(sl_cluster_link(&c, groups[i].first, groups[i].stride, groups[i].count), &c.link[groups[i].level]);
  sl_cluster_free(&c);
}

/* Every preset loads; its dump loads again to the same numbers, up to the rounding of the units. */
static void presets_read_back(void **state) {
  (void)state;
  int count = 0;
  for (const char *name; (name = sl_cluster_preset_name(count)) != NULL; count++) {
    struct sl_cluster c, again;
    assert_int_equal(sl_cluster_load(&c, name), SL_OK);
    assert_string_equal(c.name, name);
    json_t *dump = sl_cluster_to_json(&c);
    char *text = json_dumps(dump, 0);
    assert_int_equal(parse(&again, text), SL_OK);
    assert_string_equal(again.name, name);
    assert_string_equal(again.device.name, c.device.name);
    assert_string_equal(again.framework, c.framework);
    assert_int_equal(again.device.memory, c.device.memory);
    assert_int_equal(again.device.kind, c.device.kind);
    assert_int_equal(again.device.cores, c.device.cores);
    for (int i = 0; i < SL_DTYPE_COUNT; i++) near(again.device.peak[i], c.device.peak[i]);
    near(again.device.memory_bandwidth, c.device.memory_bandwidth);
    near(again.device.launch_latency, c.device.launch_latency);
    near(again.device.comm_cpu_share, c.device.comm_cpu_share);
    near(again.pipeline_stall, c.pipeline_stall);
    assert_int_equal(again.n_link, c.n_link);
    for (int i = 0; i < c.n_link; i++) {
      near(again.link[i].bandwidth, c.link[i].bandwidth);
      near(again.link[i].latency, c.link[i].latency);
      near(again.link[i].half_bytes, c.link[i].half_bytes);
      near(again.link[i].bandwidth_share, c.link[i].bandwidth_share);
      near(again.link[i].bandwidth_decay, c.link[i].bandwidth_decay);
      assert_int_equal(again.link[i].hop, c.link[i].hop);
      const bool by_nccl =
          c.device.kind == SL_DEVICE_GPU && c.devices_per_node > 1 && strncmp(c.name, "mi300x", 6) != 0;
      if (by_nccl != (c.link[i].hop != SL_HOP_PLAIN)) fail_msg("%s: nccl_hop of link %d", c.name, i);
      assert_int_equal(again.link[i].span, c.link[i].span);
    }
    sl_cluster_free(&again);
    sl_cluster_free(&c);
    free(text);
    json_decref(dump);
  }
  assert_int_equal(count, 29);
}

static json_t *printed(const char *spec) {
  struct sl_cluster c;
  if (sl_cluster_load(&c, spec) != SL_OK) fail_msg("%s", sl_error_message());
  json_t *dump = sl_cluster_to_json(&c);
  sl_cluster_free(&c);
  return dump;
}

static void write_file(const char *path, const char *text) {
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
}

/* A profile that is not built in is found by its name, beside the program and under its prefix; without a slash
 * only. */
static void a_profile_beside_the_program_has_a_name(void **state) {
  (void)state;
  static const char *const folders[] = {"bin/profiles", "share", "share/shardlab", "share/shardlab/profiles"};
  char name[64], path[128], folder[4096], file[4200];
  snprintf(name, sizeof name, "three-levels-%d", (int)getpid()); /* no file that a run that failed has left */
  snprintf(path, sizeof path, "../profiles/%s", name);
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    struct sl_cluster c;
    snprintf(folder, sizeof folder, "%s/%s", SL_BINARY_DIR, folders[i]);
    mkdir(folder, 0777);
    if (strstr(folders[i], "profiles") == NULL) continue;
    snprintf(file, sizeof file, "%s/%s.json", folder, name);
    assert_int_equal(sl_cluster_load(&c, name), SL_ERR_INPUT);
    write_file(file, three_levels);
    assert_int_equal(sl_cluster_load(&c, name), SL_OK);
    assert_int_equal(c.n_link, 3);
    sl_cluster_free(&c);
    assert_int_equal(sl_cluster_load(&c, path), SL_ERR_INPUT);
    unlink(file);
    sl_error_clear();
  }
}

/* An embedded preset and its file are one text; localhost alone has numbers of this machine. */
static void presets_are_the_files_of_profiles(void **state) {
  (void)state;
  const char *name;
  for (int i = 0; (name = sl_cluster_preset_name(i)) != NULL; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/profiles/%s.json", SL_SOURCE_DIR, name);
    json_t *built_in = printed(name), *file = printed(path);
    if (json_equal(built_in, file) != (strcmp(name, "localhost") != 0)) fail_msg("%s is not %s", name, path);
    json_decref(built_in);
    json_decref(file);
  }
  json_t *here = printed("localhost"), *device = json_object_get(here, "device");
  const double cores = json_number_value(json_object_get(device, "cores"));
  near(json_number_value(json_object_get(here, "devices_per_node")), cores);
  near(json_number_value(json_object_get(device, "memory_bandwidth_GBps")), 10 * cores);
  json_decref(here);
}

/* "data sheet", "guess", ..., of what a preset gives and of what it leaves out. */
static void presets_name_their_sources(void **state) {
  (void)state;
  const char *name;
  for (int i = 0; (name = sl_cluster_preset_name(i)) != NULL; i++) {
    json_t *dump = printed(name);
    if (every_number_names_its_source(dump) < 24) fail_msg("%s has few numbers", name);
    json_decref(dump);
  }
  json_t *localhost = printed("localhost"), *device = json_object_get(localhost, "device");
  assert_string_equal(json_string_value(json_object_get(device, "cores_source")), "sched_getaffinity");
  assert_string_equal(json_string_value(json_object_get(device, "launch_us_source")), "guess");
  assert_string_equal(json_string_value(json_object_get(device, "run_noise_source")), "not given");
  json_decref(localhost);
}

static void expect_text(const json_t *object, const char *key, const char *want) {
  const char *got = json_string_value(json_object_get(object, key));
  if (got == NULL || strcmp(got, want) != 0) fail_msg("%s is %s, expected %s", key, got ? got : "absent", want);
}

/* Sources and standard errors are printed where the file has them, behind their number, and read back as they were. */
static void annotations_survive(void **state) {
  (void)state;
  static const char text[] =
      "{\"nodes\":1,\"nodes_source\":\"counted\",\"device\":{\"kind\":\"gpu\",\"memory_GiB\":3,\n"
      "  \"peak_TFLOPS\":{\"fp32\":5,\"bf16\":7,\"bf16_source\":\"fit\",\"bf16_stderr\":0.25},\n"
      "  \"peak_TFLOPS_source\":\"data sheet\",\"launch_us_stderr\":0.125,\"launch_us\":2,\n"
      "  \"memory_bandwidth_GBps\":11},\n"
      " \"links\":[{\"span\":3,\"bandwidth_GBps\":5,\"latency_us\":2},\n"
      "  {\"bandwidth_GBps\":1.5,\"bandwidth_GBps_source\":\"fit\",\"bandwidth_GBps_stderr\":0.5,\"latency_us\":7}]}";
  struct sl_cluster c;
  assert_int_equal(parse(&c, text), SL_OK);
  json_t *dump = sl_cluster_to_json(&c), *device = json_object_get(dump, "device");
  const json_t *peak = json_object_get(device, "peak_TFLOPS"), *links = json_object_get(dump, "links");
  sl_cluster_free(&c);
  expect_text(dump, "nodes_source", "counted");
  expect_text(peak, "fp32_source", "data sheet"); /* of all that name none themselves */
  expect_text(peak, "bf16_source", "fit");
  near(json_real_value(json_object_get(peak, "bf16_stderr")), 0.25);
  near(json_real_value(json_object_get(device, "launch_us_stderr")), 0.125);
  expect_text(device, "launch_us_source", "no source given");
  expect_text(device, "memory_GiB_source", "no source given");
  expect_text(device, "gemm_efficiency_source", "guess, the default");
  expect_text(device, "run_noise_source", "not given");
  expect_text(json_array_get(links, 0), "bandwidth_GBps_source", "no source given");
  assert_null(json_object_get(json_array_get(links, 0), "bandwidth_GBps_stderr"));
  expect_text(json_array_get(links, 1), "bandwidth_GBps_source", "fit");
  near(json_real_value(json_object_get(json_array_get(links, 1), "bandwidth_GBps_stderr")), 0.5);
  assert_string_equal(json_object_iter_key(json_object_iter_next(device, json_object_iter_at(device, "launch_us"))),
                      "launch_us_source");
  char *once = json_dumps(dump, 0);
  assert_int_equal(parse(&c, once), SL_OK);
  json_t *again = sl_cluster_to_json(&c);
  assert_true(json_equal(dump, again));
  sl_cluster_free(&c);
  json_decref(again);
  json_decref(dump);
  free(once);
}

static void preset_numbers(void **state) {
  (void)state;
  struct sl_cluster c;
  assert_int_equal(sl_cluster_load(&c, "dgx-a100-80g"), SL_OK);
  near(c.device.peak[SL_BF16], 312e12);
  near(c.device.peak[SL_F32], 19.5e12);
  near(c.device.peak[SL_TF32], 156e12);
  near(c.device.memory_bandwidth, 2039e9);
  near(sl_cluster_link(&c, 0, 1, 8)->bandwidth, 240e9);
  near(sl_cluster_link(&c, 0, 8, 2)->bandwidth, 24e9);
  sl_cluster_free(&c);
  assert_int_equal(sl_cluster_load(&c, "dgx2-v100"), SL_OK);
  assert_int_equal(c.devices_per_node, 16);
  assert_true(c.device.peak[SL_TF32] == 0); /* a V100 has none */
  near(sl_cluster_link(&c, 8, 1, 8)->bandwidth, 120e9);
  near(sl_cluster_link(&c, 15, 1, 2)->bandwidth, 6e9);
  sl_cluster_free(&c);
  assert_int_equal(sl_cluster_load(&c, "dgx-h100"), SL_OK);
  near(c.device.peak[SL_BF16], 989.4e12);
  near(sl_cluster_link(&c, 0, 1, 8)->bandwidth, 370.8e9);
  sl_cluster_free(&c);
}

static void localhost_is_this_machine(void **state) {
  (void)state;
  struct sl_cluster c;
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  assert_int_equal(sl_cluster_load(&c, "localhost"), SL_OK);
  assert_int_equal(c.device.kind, SL_DEVICE_CPU);
  assert_int_equal(c.nodes, 1);
  assert_int_equal(c.device.cores, CPU_COUNT(&set));
  assert_int_equal(c.devices_per_node, CPU_COUNT(&set));
  const double physical = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  assert_true(c.device.memory > 0 && (double)c.device.memory <= physical + 4096);
  near(c.device.peak[SL_F32], 112e9);
  near(c.device.memory_bandwidth, 10e9 * c.device.cores);
  /* more ranks than cores still have a link */
  assert_string_equal(sl_cluster_link(&c, 0, 1, 4 * c.device.cores)->name, "shared memory");
  sl_cluster_free(&c);
}

/* 4 of 8 devices of a node have 16 neighbours where 8 have 32, and no pair of 6 is split by the end of a node. */
static void links_follow_the_size_of_nodes(void **state) {
  (void)state;
  static const struct {
    int64_t devices, spans[3];
  } cases[] = {{8, {4, 8, 32}}, {4, {4, 4, 16}}, {6, {2, 6, 24}}, {3, {1, 3, 12}}, {16, {4, 16, 32}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_cluster c;
    assert_int_equal(parse(&c, "{\"devices_per_node\":8, \"device\":\"h100-sxm\", \"links\":["
                               "{\"span\":4,\"bandwidth_GBps\":8,\"latency_us\":1},"
                               "{\"span\":8,\"bandwidth_GBps\":7,\"latency_us\":1},"
                               "{\"span\":32,\"bandwidth_GBps\":6,\"latency_us\":1},"
                               "{\"bandwidth_GBps\":5,\"latency_us\":1}]}"),
                     SL_OK);
    sl_cluster_resize_nodes(&c, cases[i].devices);
    for (int k = 0; k < 3; k++) assert_int_equal(c.link[k].span, cases[i].spans[k]);
    assert_true(c.link[3].span == INT64_MAX);
    sl_cluster_free(&c);
  }
}

/* Nodes of a job are divided evenly over the domains that join several, if at least half a domain divides them. */
static void jobs_divide_domains_evenly(void **state) {
  (void)state;
  static const struct {
    int64_t world, span;
  } cases[] = {{64, 72},  {72, 72},  {76, 72},  {80, 40},  {96, 48},  {128, 64},  {144, 72},
               {148, 72}, {152, 72}, {160, 40}, {256, 64}, {130, 72}, {1024, 64}, {2304, 72}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_cluster c;
    assert_int_equal(sl_cluster_load(&c, "gb200-nvl72"), SL_OK);
    sl_cluster_align(&c, cases[i].world);
    assert_int_equal(c.link[0].span, cases[i].span);
    assert_true(c.link[1].span == INT64_MAX);
    sl_cluster_free(&c);
  }
  struct sl_cluster dgx, two;
  assert_int_equal(sl_cluster_load(&dgx, "dgx-h100"), SL_OK);
  sl_cluster_align(&dgx, 1024);
  assert_int_equal(dgx.link[0].span, 8);
  sl_cluster_free(&dgx);
  assert_int_equal(parse(&two, "{\"devices_per_node\":4, \"device\":\"gb200\", \"links\":["
                               "{\"span\":72,\"bandwidth_GBps\":8,\"latency_us\":1},"
                               "{\"span\":288,\"bandwidth_GBps\":7,\"latency_us\":1},"
                               "{\"bandwidth_GBps\":5,\"latency_us\":1}]}"),
                   SL_OK);
  sl_cluster_align(&two, 640); /* 160 nodes: 40 of them would split domains of 16, so 64 are together */
  assert_int_equal(two.link[0].span, 64);
  assert_int_equal(two.link[1].span, 256);
  sl_cluster_free(&two);
}

/* "device" may be the name of a description that several clusters share; what is printed is the whole. */
static void clusters_share_a_device(void **state) {
  (void)state;
  static const char links[] = "\"links\":[{\"bandwidth_GBps\":5,\"latency_us\":2}]}";
  struct sl_cluster dgx, ours;
  char text[256];
  snprintf(text, sizeof text, "{\"devices_per_node\":3,\n \"device\":\"h100-sxm\",%s", links);
  assert_int_equal(parse(&ours, text), SL_OK);
  assert_int_equal(sl_cluster_load(&dgx, "dgx-h100"), SL_OK);
  near(ours.device.peak[SL_F8], 1978.9e12);
  json_t *a = sl_cluster_to_json(&ours), *b = sl_cluster_to_json(&dgx);
  assert_true(json_equal(json_object_get(a, "device"), json_object_get(b, "device")));
  expect_text(json_object_get(a, "device"), "memory_bandwidth_GBps_source", "NVIDIA H100 SXM data sheet");
  json_decref(a);
  json_decref(b);
  sl_cluster_free(&ours);
  sl_cluster_free(&dgx);
  snprintf(text, sizeof text, "{\"devices_per_node\":3,\n \"device\":\"h100-sxn\",%s", links);
  assert_int_equal(parse(&ours, text), SL_ERR_INPUT);
  assert_string_equal(
      sl_error_message(),
      "c.json:2:2: device: is \"h100-sxn\"; expected an object or one of v100, v100-16g, a100-40g, a100-80g, "
      "a100-pcie-40g, a100-pcie-80g, h100-sxm, h100-sxm-96g, h100-pcie, h200, b200, b300, gb200, gb300, "
      "mi300x; did you mean \"h100-sxm\"?");
  sl_error_clear();
}

/* Every device is a cluster, too: the first of the presets that has it. */
static void devices_name_their_usual_clusters(void **state) {
  (void)state;
  static const char *const names[] = {
      "v100",     "dgx2-v100",    "v100-16g",      "dgx1-v100",       "a100-40g",      "dgx-a100-40g",
      "a100-80g", "dgx-a100-80g", "a100-pcie-40g", "a100-pcie-40g-8", "a100-pcie-80g", "a100-pcie-8",
      "h100-sxm", "dgx-h100",     "h100-sxm-96g",  "torchtitan-h100", "h100-pcie",     "h100-pcie-8",
      "h200",     "dgx-h200",     "b200",          "dgx-b200",        "b300",          "dgx-b300",
      "gb200",    "gb200-nvl72",  "gb300",         "gb300-nvl72",     "mi300x",        "mi300x-8"};
  struct sl_cluster c;
  for (size_t i = 0; i < sizeof names / sizeof *names; i += 2) {
    assert_true(sl_cluster_is_known(names[i]));
    assert_int_equal(sl_cluster_load(&c, names[i]), SL_OK);
    assert_string_equal(c.name, names[i + 1]);
    sl_cluster_free(&c);
  }
  assert_false(sl_cluster_is_known("h100"));
}

static void unknown_words_list_the_presets(void **state) {
  (void)state;
  struct sl_cluster c;
  assert_int_equal(sl_cluster_load(&c, "dgx-a100"), SL_ERR_INPUT);
  assert_string_equal(
      sl_error_message(),
      "cluster \"dgx-a100\": is neither a file nor a preset; nearest preset is \"dgx-a100-40g\"; "
      "presets: localhost, dgx1-v100, dgx2-v100, dgx-a100-40g, dgx-a100-80g, dgx-h100, dgx-h200, "
      "h100x1, h200x1, a100-pcie-8, a100-pcie-40g-8, h100-pcie-8, dgx-b200, dgx-b300, gb200-nvl72, gb300-nvl72, "
      "mi300x-8, "
      "selene-a100, alephalpha-a100, "
      "mosaic-a100-40g, mosaic-a100-80g, mosaic-h100, hf-h100, ibm-a100, ibm-h100, jeanzay-a100, kaist-a100, "
      "torchtitan-a100, torchtitan-h100");
  sl_error_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(units_become_si),
      cmocka_unit_test(a_group_gets_the_link_it_spans),
      cmocka_unit_test(presets_read_back),
      cmocka_unit_test(presets_name_their_sources),
      cmocka_unit_test(presets_are_the_files_of_profiles),
      cmocka_unit_test(a_profile_beside_the_program_has_a_name),
      cmocka_unit_test(annotations_survive),
      cmocka_unit_test(preset_numbers),
      cmocka_unit_test(localhost_is_this_machine),
      cmocka_unit_test(clusters_share_a_device),
      cmocka_unit_test(links_follow_the_size_of_nodes),
      cmocka_unit_test(jobs_divide_domains_evenly),
      cmocka_unit_test(devices_name_their_usual_clusters),
      cmocka_unit_test(unknown_words_list_the_presets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
