/* label: cli
 * The verdict of a prediction: more memory never makes a plan fit less, what is said to help helps when it is done,
 * and each space is held against its own limit. */
#include "tests/support/small_cluster.h"

#define GIB 0x1p30

static uint64_t random_state = 20261123;

static int draw(int n) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (int)((random_state >> 33) % (uint64_t)n);
}

static void draw_job(char *flags, size_t size) {
  static const char *const kernels[] = {"",
                                        "--kernels megatron-unfused --tp 2",
                                        "--kernels torch-eager",
                                        "--kernels llm-foundry",
                                        "--dtype bf16",
                                        "--straggler 1:3",
                                        "--recompute full"};
  snprintf(flags, size, "--model gpt2-mini --config ds.json --world 4 --seq %d --micro-batch %d --zero-stage %d %s",
           64 << draw(3), 1 << draw(4), draw(4), kernels[draw(7)]);
}

/* Presets of which another shards more: nothing but its name can be changed. */
static const char *const less_sharded[] = {"ddp", "megatron-lm", "accelerate-ddp", "deepspeed-0", "nanotron"};
enum { PRESETS = sizeof less_sharded / sizeof *less_sharded };

/* Around what is needed, where an allocator that gives memory back in need might decide otherwise. */
static void more_memory_fits_no_less(void **state) {
  (void)state;
  char flags[512];
  int flips = 0;
  write_job();
  for (int job = 0; job < 24; job++) {
    bool before = false;
    draw_job(flags, sizeof flags);
    write_cluster(100, 100, 100);
    json_t *record = predict(flags);
    const double need = of_verdict(record, "device", "need_bytes") / GIB;
    json_decref(record);
    for (int i = 0; i < 5; i++) {
      const double memory = need * (0.86 + 0.04 * i + 0.001 * draw(40));
      write_cluster(memory, 100, 100);
      record = predict(flags);
      if (before && !fits(record)) fail_msg("%s: fits in less than %g GiB, and not in that", flags, memory);
      flips += fits(record) && !before && i > 0;
      before = fits(record);
      const double rest = of_verdict(record, "device", fits(record) ? "left_bytes" : "over_bytes");
      const double off = of_verdict(record, "device", "limit_bytes") - of_verdict(record, "device", "need_bytes");
      if (rest != (fits(record) ? off : -off)) fail_msg("%s: %g GiB", flags, memory);
      json_decref(record);
    }
    if (!before) fail_msg("%s: needs %g GiB, and does not fit in more", flags, need);
  }
  assert_true(flips > 12); /* else nothing was near its limit */
}

/* Where a device would have room if hosts had, they are named. */
static void hosts_that_lack_memory_are_named(void **state) {
  (void)state;
  static const char flags[] = "--model gpt2 --config ds.json --world 1 --seq 64 --micro-batch 1 --recompute full";
  write_job();
  write_cluster(100, 100, 0);
  json_t *record = predict(flags);
  const double memory = 0.6 * of_verdict(record, "device", "need_bytes") / GIB;
  json_decref(record);
  for (int none = 0; none < 2; none++) { /* where the device itself has too little, they are not */
    write_cluster(none ? 0.3 : memory, none ? 100 : 0.4, 0);
    assert_int_equal(shardlab(scratch, "predict --cluster cluster.json %s", flags), 0);
    const char *line = strstr(out, "fits with  none of the changes that were tried: the least takes ");
    if (line == NULL) fail_msg("%s", out);
    assert_int_equal(strstr(line, " of the device, and more of its node than that has\n") != NULL, !none);
  }
}

/* Each change that a verdict names, done. */
static void what_is_said_to_help_helps(void **state) {
  (void)state;
  char flags[512], changed[900];
  int tried = 0, other_presets = 0;
  write_job();
  for (int job = 0; job < 10 + PRESETS; job++) {
    draw_job(flags, sizeof flags);
    if (job >= 10)
      snprintf(flags, sizeof flags, "--model gpt2-mini --config ds.json --world 4 --preset %s", less_sharded[job - 10]);
    write_cluster(100, 100, 100);
    json_t *record = predict(flags), *change;
    const double share = job < 10 ? 0.6 + 0.05 * draw(7) : 0.9;
    const double memory = share * of_verdict(record, "device", "need_bytes") / GIB;
    json_decref(record);
    write_cluster(memory, 100, 100);
    record = predict(flags);
    assert_false(fits(record));
    size_t i;
    json_array_foreach(json_object_get(json_object_get(record, "verdict"), "changes"), i, change) {
      snprintf(changed, sizeof changed, "%s %s", flags, json_string_value(json_object_get(change, "flags")));
      other_presets += job >= 10 && strstr(changed + strlen(flags), "--preset ") != NULL;
      json_t *other = predict(changed);
      if (!fits(other)) fail_msg("%s: does not fit in %g GiB", changed, memory);
      if (of_verdict(other, "device", "need_bytes") !=
          (double)json_integer_value(json_object_get(change, "need_bytes")))
        fail_msg("%s: needs other bytes than was said", changed);
      assert_float_equal(json_real_value(json_object_get(other, "step_time_s")),
                         json_real_value(json_object_get(change, "step_time_s")), 1e-12);
      assert_int_equal(json_integer_value(json_object_get(json_object_get(other, "plan"), "global_batch")),
                       json_integer_value(json_object_get(json_object_get(record, "plan"), "global_batch")));
      json_decref(other);
      tried++;
    }
    json_decref(record);
  }
  assert_true(tried > 15);
  assert_true(other_presets >= PRESETS);
}

/* Where nothing fits, the least that is said is that of all that is tried, however much the others need. */
static void the_least_is_that_of_all(void **state) {
  (void)state;
  static const char job[] =
      "--model gpt2-mini --config ds.json --seq 256 --micro-batch 1 --grad-accum 8 --zero-stage 1";
  static const char *const changes[] = {"--recompute full",
                                        "--recompute full --cpu-checkpointing",
                                        "--zero-stage 2",
                                        "--zero-stage 3",
                                        "--offload-optimizer cpu",
                                        "--zero-stage 3 --recompute full",
                                        "--zero-stage 3 --offload-optimizer cpu --offload-param cpu",
                                        "--zero-stage 3 --offload-optimizer cpu --offload-param cpu --recompute full"};
  static const char *const schedules[] = {" --world 1", " --world 2 --pp 2 --schedule gpipe", " --world 2 --pp 2"};
  char flags[400];
  write_job();
  for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++) {
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
      write_cluster(100, 100, 100);
      snprintf(flags, sizeof flags, "%s%s %s", job, schedules[s], changes[i]);
      json_t *record = predict(flags);
      const int64_t need = (int64_t)of_verdict(record, "device", "need_bytes");
      if (need < least) least = need;
      json_decref(record);
    }
    write_cluster(0.5 * (double)(least - (20 << 20)) / GIB, 100, 100); /* less than is live, without the context */
    snprintf(flags, sizeof flags, "%s%s", job, schedules[s]);
    json_t *record = predict(flags);
    assert_false(fits(record));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(record, "verdict"), "least_bytes")), least);
    json_decref(record);
  }
}

/* The device has room enough; host memory, and NVMe, are short by a byte or not. */
static void each_space_has_its_limit(void **state) {
  (void)state;
  static const char job[] = "--model gpt2-mini --config ds.json --world 4 --seq 64 --zero-stage 3 --offload-param cpu "
                            "--offload-optimizer ";
  char flags[512];
  write_job();
  for (int nvme = 0; nvme < 2; nvme++) {
    const char *space = nvme ? "nvme" : "host";
    if (nvme)
      write_file("ds.json", "{\"train_micro_batch_size_per_gpu\": 4, \"optimizer\": {\"type\": \"AdamW\"}, "
                            "\"zero_optimization\": {\"offload_optimizer\": {\"nvme_path\": \"/tmp\"}}}");
    snprintf(flags, sizeof flags, "%s%s", job, nvme ? "nvme" : "cpu");
    write_cluster(100, 100, 100);
    json_t *record = predict(flags);
    const double need = of_verdict(record, space, "need_bytes");
    assert_true(fits(record) && need > 1e6);
    const json_t *ranks = json_object_get(json_object_get(json_object_get(record, "memory"), space), "ranks"), *rank;
    size_t r;
    double sum = 0;
    json_array_foreach(ranks, r, rank) sum += (double)json_integer_value(json_object_get(rank, "peak_bytes"));
    assert_true(r == 4 && sum == need);
    json_decref(record);
    for (int over = 0; over < 2; over++) {
      const double limit = (need - 16 * over) / GIB + 1e-9;
      write_cluster(100, nvme ? 100 : limit, nvme ? limit : 100);
      record = predict(flags);
      if (fits(record) == (over == 1))
        fail_msg("%s of %.0f bytes, %.9f GiB: fits %d", space, need, limit, fits(record));
      json_decref(record);
    }
    write_cluster(100, 0, 0); /* nobody knows */
    record = predict(flags);
    assert_true(fits(record));
    json_decref(record);
  }
}

/* What holds the peak adds up to it, and of a wide vocabulary the logits are named. */
static void what_holds_the_peak_adds_up(void **state) {
  (void)state;
  const char *key;
  json_t *value;
  long long sum = 0;
  write_job();
  write_cluster(0.5, 100, 100);
  write_file("wide.json",
             "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 32, \"n_head\": 2, \"vocab_size\": 30000, "
             "\"n_positions\": 256}");
  json_t *record = predict("--model wide.json --config ds.json --world 4 --micro-batch 8");
  const json_t *device = json_object_get(json_object_get(record, "verdict"), "device");
  json_object_foreach(json_object_get(device, "held_bytes"), key, value) sum += (long long)json_integer_value(value);
  assert_int_equal(sum, json_integer_value(json_object_get(device, "peak_bytes")));
  assert_true(of_verdict(record, "device", "context_bytes") == 20 * 0x1p20);
  assert_true(of_verdict(record, "device", "need_bytes") == (double)sum +
                                                                of_verdict(record, "device", "context_bytes") +
                                                                of_verdict(record, "device", "reserve_bytes"));
  const json_t *model = json_object_get(record, "model");
  const long long vocabulary = (long long)json_integer_value(json_object_get(model, "vocab_size"));
  assert_true(json_integer_value(json_object_get(json_object_get(device, "held_bytes"), "logits")) >=
              8 * 256 * 4 * vocabulary);
  json_decref(record);
}

/* FSDP's presets have stage 3 without its name, which a configuration of DeepSpeed needs for parameters on the host. */
static void states_of_fsdp_may_go_to_the_host(void **state) {
  (void)state;
  static const char *const presets[] = {"fsdp", "fsdp2", "accelerate-fsdp"};
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    write_cluster(0.05, 100, 100);
    assert_int_equal(shardlab(scratch,
                              "predict --cluster cluster.json --model gpt2-mini --preset %s --world 2 --seq 64 "
                              "--micro-batch 1",
                              presets[i]),
                     0);
    assert_non_null(strstr(out, "\ndoes not fit: "));
    if (strstr(out, "--offload-optimizer cpu --offload-param cpu: ") == NULL) fail_msg("%s", out);
  }
}

/* Placement in order of size alone leaves 339 MB unused where the sequence is short, and 1.3 GB where it is long, of which
 * order of first use spares most: so the shorter one would need more. */
static void half_a_sequence_needs_no_more(void **state) {
  (void)state;
  double peak[2];
  for (int half = 0; half < 2; half++) {
    const int status =
        shardlab(scratch,
                 "predict --model gpt2-xl --preset deepspeed-1 --dtype fp32 --cluster a100-pcie-8 --world 1 "
                 "--micro-batch 1 --seq %d --quiet --json -",
                 half ? 512 : 1024);
    if (status != 0) fail_msg("%s", err);
    json_t *record = json_loads(out, 0, NULL);
    peak[half] = of_verdict(record, "device", "peak_bytes");
    json_decref(record);
  }
  assert_true(peak[1] < peak[0]);
}

static void to_require_is_to_fail(void **state) {
  (void)state;
  static const char job[] = "predict --model gpt2-mini --config ds.json --world 4 --seq 256 --cluster cluster.json";
  write_job();
  write_cluster(0.13, 100, 100);
  assert_int_equal(shardlab(scratch, "%s", job), 0);
  assert_non_null(strstr(out, "gpt2-mini, fp32, seq 256, micro-batch 4 x 1, "));
  assert_non_null(strstr(out, " on 4 x G, shardlab kernels\ndoes not fit: rank 0 needs "));
  assert_non_null(strstr(out, "\n  fits with  --"));
  assert_int_equal(shardlab(scratch, "%s --require-fit --json r.json", job), 1);
  assert_non_null(strstr(err, "--require-fit: it does not fit: gpt2-mini, "));
  slurp("r.json", out, sizeof out); /* the record stands all the same */
  assert_non_null(strstr(out, "\"fits\": false"));
  write_cluster(50, 100, 100);
  assert_int_equal(shardlab(scratch, "%s --require-fit", job), 0);
  assert_non_null(strstr(out, "\nfits: rank 0 needs "));
  assert_non_null(strstr(out, "not calibrated; 90 % interval "));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(more_memory_fits_no_less),          cmocka_unit_test(hosts_that_lack_memory_are_named),
      cmocka_unit_test(what_is_said_to_help_helps),        cmocka_unit_test(the_least_is_that_of_all),
      cmocka_unit_test(each_space_has_its_limit),          cmocka_unit_test(what_holds_the_peak_adds_up),
      cmocka_unit_test(half_a_sequence_needs_no_more),     cmocka_unit_test(to_require_is_to_fail),
      cmocka_unit_test(states_of_fsdp_may_go_to_the_host),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
