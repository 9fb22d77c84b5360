/* label: unit
 * Broken clusters: each gives one error with place, key and what was expected. */
#include "core/cluster/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/core/cluster/parsing.h"

#define DEVICE "\"device\":{\"kind\":\"gpu\",\"memory_GiB\":1,\"peak_TFLOPS\":{\"fp32\":1},\"memory_bandwidth_GBps\":1}"
#define LINKS "\"links\":[{\"bandwidth_GBps\":1,\"latency_us\":1}]"

#define GPU "\"device\":{\"kind\":\"gpu\",\"memory_GiB\":1,\"peak_TFLOPS\":{\"fp32\":1},\"memory_bandwidth_GBps\":1"

static void the_outermost_span_may_be_the_cluster(void **state) {
  (void)state;
  struct sl_cluster c;
  assert_int_equal(parse(&c, "{\"nodes\":3,\"devices_per_node\":5," DEVICE
                             ",\"links\":[{\"bandwidth_GBps\":1,\"latency_us\":1,\"span\":15}]}"),
                   SL_OK);
  assert_int_equal(c.link[0].span, 15);
  sl_cluster_free(&c);
}

/* 0 stands for a number that is not given, whatever the range of those that are. */
static void numbers_that_are_not_given_are_0(void **state) {
  (void)state;
  struct sl_cluster c;
  const char *text = "{" GPU ",\"sm_count\":7,\"compute_capability\":0,\"odd_gemm_slowdown\":0.0,"
                     "\"flash2_forward_efficiency\":0}," LINKS "}";
  assert_int_equal(parse(&c, text), SL_OK);
  assert_true(c.device.compute_capability == 0 && c.device.odd_gemm_slowdown == 0);
  sl_cluster_free(&c);
}

static const struct {
  const char *text, *message;
} broken_files[] = {
    {"[1]", "c.json: expected a JSON object"},
    {"{\n \"node\":2,\n " DEVICE "," LINKS "}", "c.json:2:2: node: unknown key; did you mean \"nodes\"?"},
    {"{\n \"devices_per_node\":8," DEVICE
     ",\n \"links\":[{\"span\":3,\"bandwidth_GBps\":1,\"latency_us\":1},{\"bandwidth_GBps\":1,\"latency_us\":1}]}",
     "c.json:3:12: links[0].span: is 3; expected a divisor or a multiple of devices_per_node, 8"},
    {"{\n \"zzzzzzzzzzzz\":2}", "c.json:2:2: zzzzzzzzzzzz: unknown key"},
    {"{\n \"nodes\":-1," DEVICE "," LINKS "}", "c.json:2:2: nodes: is -1; expected a whole number from 0 to 1000000"},
    {"{" LINKS "}", "c.json: device: is missing; expected an object"},
    {"{\n \"device\":{\"kind\":\"tpu\"}," LINKS "}",
     "c.json:2:12: device.kind: is \"tpu\"; expected \"gpu\" or \"cpu\""},
    {"{\n \"device\":{\"kind\":\"gpu\",\"peak_TFLOPS\":{\"fp32\":1}}," LINKS "}",
     "c.json:2:2: device.memory_GiB: is missing; expected a number from 0.001 to 1e+06"},
    {"{\n \"device\":{\"kind\":\"gpu\",\n  \"memory_GB\":80}}",
     "c.json:3:3: device.memory_GB: unknown key; did you mean \"memory_GiB\"?"},
    {"{\n \"device\":{\"kind\":\"gpu\",\"memory_GiB\":1,\n  \"memory_GiB_source\":7}}",
     "c.json:3:3: device.memory_GiB_source: is 7; expected text"},
    {"{\n \"device\":{\"kind\":\"gpu\",\n  \"peak_TFLOPS\":312}}",
     "c.json:3:3: device.peak_TFLOPS: is 312; expected an object {\"fp32\": TFLOPS, ...}"},
    {"{\n \"device\":{\"kind\":\"gpu\",\n  \"peak_TFLOPS\":{\"bf16\":312}}}",
     "c.json:3:3: device.peak_TFLOPS.fp32: is missing; expected a number from 1e-06 to 1e+06"},
    {"{\n \"device\":{\"kind\":\"gpu\",\n  \"peak_TFLOPS\":{\"fp32\":312,\"bf61\":1}}}",
     "c.json:3:29: device.peak_TFLOPS.bf61: unknown key; did you mean \"bf16\"?"},
    {"{\n "
     "\"device\":{\"kind\":\"cpu\",\"memory_GiB\":1,\"peak_TFLOPS\":{\"fp32\":1},\"memory_bandwidth_GBps\":1}," LINKS
     "}",
     "c.json:2:2: device.cores: is missing; expected the cores of one node, from 1 to 100000"},
    {"{\n \"device\":{\"kind\":\"gpu\",\"memory_GiB\":1,\"peak_TFLOPS\":{\"fp32\":1},\"memory_bandwidth_GBps\":1,\n"
     "  \"gemm_efficiency\":1.2}," LINKS "}",
     "c.json:3:3: device.gemm_efficiency: is 1.2; expected a number from 0.001 to 1"},
    {"{\n \"device\":{\"kind\":\"gpu\",\"memory_GiB\":1,\"peak_TFLOPS\":{\"fp32\":1},\"memory_bandwidth_GBps\":1,\n"
     "  \"cache_MiB\":1}," LINKS "}",
     "c.json:2:2: device.cache_bandwidth_GBps: is missing; expected more than 0, since cache_MiB is given"},
    {"{" GPU ",\n  \"compute_capability\":1e-12}," LINKS "}",
     "c.json:2:3: device.compute_capability: is 1e-12; expected 0, or a number from 1 to 100"},
    {"{" GPU ",\n  \"unaligned_gemm_slowdown\":0.5}," LINKS "}",
     "c.json:2:3: device.unaligned_gemm_slowdown: is 0.5; expected 0, or a number from 1 to 100"},
    {"{" GPU ",\n  \"odd_gemm_slowdown\":\"3\"}," LINKS "}",
     "c.json:2:3: device.odd_gemm_slowdown: is \"3\"; expected 0, or a number from 1 to 100"},
    {"{" GPU ",\n  \"flash2_forward_efficiency\":1e-9}," LINKS "}",
     "c.json:2:3: device.flash2_forward_efficiency: is 1e-9; expected 0, or a number from 0.001 to 1"},
    {"{" GPU ",\n  \"name\":\"\\u001b[31mred\"}," LINKS "}",
     "c.json:2:3: device.name: is \"\\u001B[31mred\"; expected text without control characters"},
    {"{" DEVICE ",\n \"name\":\"a\\nb\"," LINKS "}",
     "c.json:2:2: name: is \"a\\nb\"; expected text without control characters"},
    {"{" DEVICE ",\n \"links\":[{\"latency_us\":1,\"bandwidth_GBps\":1,\n  \"name\":\"\\u009b1m\"}]}",
     "c.json:3:3: links[0].name: is \"\\u009b1m\"; expected text without control characters"},
    {"{" DEVICE ",\n \"links\":[{\"latency_us\":1,\"bandwidth_GBps\":1,\n  \"bandwidth_share\":1.3}]}",
     "c.json:3:3: links[0].bandwidth_share: is 1.3; expected a number from 0.001 to 1.25"},
    {"{" DEVICE "}", "c.json: links: is missing; expected a list of 1 to 4 links, the innermost first"},
    {"{" DEVICE ",\n \"links\":[]}", "c.json:2:2: links: is []; expected a list of 1 to 4 links, the innermost first"},
    {"{" DEVICE ",\n \"links\":[7]}", "c.json:2:11: links[0]: expected an object"},
    {"{" DEVICE ",\n \"links\":[{\"latency_us\":1,\n  \"bandwidth_GBps\":\"fast\"}]}",
     "c.json:3:3: links[0].bandwidth_GBps: is \"fast\"; expected a number from 1e-06 to 1e+06"},
    {"{" DEVICE ",\n \"links\":[{\"latency_us\":1,\"bandwidth_GBps\":1},\n  {\"latency_us\":1,\"bandwidth_GBps\":1}]}",
     "c.json:2:11: links[0].span: is missing; expected a number of devices; only the outermost link may have none"},
    {"{\"nodes\":2,\"devices_per_node\":8," DEVICE
     ",\n \"links\":[{\"latency_us\":1,\"bandwidth_GBps\":1,\n  \"span\":8}]}",
     "c.json:3:3: links[0].span: is 8; expected none in the outermost link, or all devices of the cluster"},
    {"{" DEVICE
     ",\n \"links\":[{\"latency_us\":1,\"bandwidth_GBps\":1,\"nccl_hop\":\"nvlink\",\n  \"message_us\":50}]}",
     "c.json:3:3: links[0].message_us: is 50; expected 0 in a link that is no \"nccl_hop\": \"network\": only its "
     "rings "
     "pass messages one by one"},
    {"{\"nodes\":2,\"devices_per_node\":6," DEVICE
     ",\n \"links\":[{\"latency_us\":1,\"bandwidth_GBps\":1,\"span\":6},\n"
     "  {\"latency_us\":1,\"bandwidth_GBps\":1,\n  \"span\":9},{\"latency_us\":1,\"bandwidth_GBps\":1}]}",
     "c.json:4:3: links[1].span: is 9; expected a multiple of the span inside it, 6, and more"},
};

static void broken_files_say_where_and_what(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof broken_files / sizeof *broken_files; i++) {
    struct sl_cluster c;
    char said[2048];
    const enum sl_status status = parse(&c, broken_files[i].text);
    snprintf(said, sizeof said, "%s", sl_error_message());
    sl_error_clear();
    assert_string_equal(said, broken_files[i].message);
    assert_int_equal(status, SL_ERR_INPUT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_outermost_span_may_be_the_cluster),
      cmocka_unit_test(numbers_that_are_not_given_are_0),
      cmocka_unit_test(broken_files_say_where_and_what),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
