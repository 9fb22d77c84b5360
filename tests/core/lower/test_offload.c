/* label: unit
 * Offload in closed forms: bytes of model state in host and device memory for offload_optimizer and offload_param, from
 * the model's size alone; what the host needs beyond states to stage gradients and parameters; sl_check passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

/* One configuration. */
struct point {
  int stage, world, accumulate, param_bytes; /* 4: fp32, 2: bf16 or fp16 */
  bool fp16, params;                         /* params: offload_param beside offload_optimizer */
};

static void open_point(struct fixture *f, const struct point *p) {
  char config[1024];
  const char *precision = p->param_bytes == 4 ? ""
                          : p->fp16           ? "\"fp16\": {\"enabled\": true},"
                                              : "\"bf16\": {\"enabled\": true},";
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, %s \"optimizer\": {\"type\": "
           "\"AdamW\", \"params\": {\"lr\": 0.001}}, \"zero_optimization\": {\"stage\": %d, \"offload_optimizer\": "
           "{\"device\": \"cpu\"}, %s \"reduce_bucket_size\": 300000, \"stage3_param_persistence_threshold\": 0}, "
           "\"shardlab\": {\"seq_len\": 33}}",
           p->accumulate, precision, p->stage, p->params ? "\"offload_param\": {\"device\": \"cpu\"}," : "");
  if (fixture_open(f, "gpt2-tiny", config, "localhost", p->world, NULL) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
}

static int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

static int64_t largest(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Elements that a rank owns, and of the flat parameters it computes with (stages 1 and 2), of gpt2-tiny: 4 layers,
 * width 128, 256 tokens, 256 positions. Flat partitions are padded to 2 x world, stage 3 splits each parameter. */
static void sizes(const struct point *p, int64_t *shard, int64_t *flat) {
  enum { C = 128 };
  static const int64_t block[] = {C, C, 3 * C * C, 3 * C, C * C, C, C, C, 4 * C * C, 4 * C, 4 * C * C, C};
  static const int64_t outside[] = {256 * C, 256 * C, C, C};
  int64_t total = 0, parts = 0;
  for (size_t i = 0; i < 12; i++) total += 4 * block[i], parts += 4 * (round_up(block[i], p->world) / p->world);
  for (size_t i = 0; i < 4; i++) total += outside[i], parts += round_up(outside[i], p->world) / p->world;
  *flat = p->world == 1 ? total : round_up(total, 2 * p->world);
  *shard = p->stage == 3 ? parts : *flat / p->world;
}

static void expect(const struct point *p, const char *what, int64_t got, int64_t want) {
  if (got == want) return;
  fail_msg("stage %d, world %d, accumulation %d, %d-byte parameters%s: %s are %lld bytes, expected %lld", p->stage,
           p->world, p->accumulate, p->param_bytes, p->params ? " offloaded" : "", what, (long long)got,
           (long long)want);
}

/* Host: 12 bytes a parameter of the shard stay (fp32 master and moments), and where asked the parameters; 4 bytes of
 * fp32 gradient are there for the update, and the updated parameters on their way to the device. Device: what
 * computes. */
static void compare(const struct point *p) {
  struct fixture f;
  int64_t shard, flat;
  sizes(p, &shard, &flat);
  open_point(&f, p);
  const struct sl_class *c = &f.job.classes[0];
  const struct sl_memory_report *host = &c->memory[SL_SPACE_HOST], *device = &c->memory[SL_SPACE_DEVICE];
  const int64_t params = p->param_bytes * shard;
  expect(p, "optimizer states in host memory", host->state_bytes[SL_CATEGORY_OPTIMIZER], 12 * shard);
  expect(p, "parameters kept in host memory", host->state_bytes[SL_CATEGORY_PARAMETER], p->params ? params : 0);
  expect(p, "parameters in host memory at most", host->category_max[SL_CATEGORY_PARAMETER], round_up(params, SL_ALIGN));
  expect(p, "gradients in host memory at most", host->category_max[SL_CATEGORY_GRADIENT],
         round_up(4 * shard, SL_ALIGN));
  expect(p, "host memory", c->arena_bytes[SL_SPACE_HOST],
         4 * round_up(4 * shard, SL_ALIGN) + round_up(params, SL_ALIGN));
  expect(p, "host peak", host->peak_bytes, c->arena_bytes[SL_SPACE_HOST]);

  expect(p, "optimizer states on the device", device->category_max[SL_CATEGORY_OPTIMIZER], 0);
  expect(p, "parameters on the device", device->state_bytes[SL_CATEGORY_PARAMETER],
         p->params ? 0 : p->param_bytes * (p->stage == 3 ? shard : flat));
  expect(p, "gradients on the device at most", device->category_max[SL_CATEGORY_GRADIENT],
         p->stage == 1 ? round_up(p->param_bytes * flat, SL_ALIGN) : 0);
  expect(p, "device peak", device->peak_bytes, c->arena_bytes[SL_SPACE_DEVICE]);
  if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
  fixture_close(&f);
}

/* Own parts of gradients leave the device with the call that reduces them: of one rank, and where each parameter is
 * split, no more than two calls' worth is ever there. */
static void gradients_leave_by_call(void **state) {
  (void)state;
  enum { CALL = 300000 }; /* reduce_bucket_size of open_point, more than any tensor has elements */
  for (int i = 0; i < 12; i++) {
    struct fixture f;
    const struct point p = {.stage = 2 + i % 2,
                            .world = i % 2 == 0 ? 1 : 1 + i / 2 % 3,
                            .accumulate = 1 + i / 6,
                            .param_bytes = i / 3 % 2 ? 2 : 4,
                            .params = i % 4 == 3};
    int64_t bytes = 0, copied = 0, shard, flat;
    sizes(&p, &shard, &flat);
    open_point(&f, &p);
    const struct sl_class *c = &f.job.classes[0];
    const struct sl_program *step = &c->programs[SL_PROGRAM_STEP];
    for (size_t b = 0; b < c->buffer_count; b++)
      bytes += c->buffers[b].space == SL_SPACE_DEVICE && strncmp(c->buffers[b].name, "grad", 4) == 0
                   ? c->buffers[b].bytes
                   : 0;
    if (bytes == 0 || bytes > 2 * p.param_bytes * CALL / p.world + 4096)
      expect(&p, "gradients that leave the device", bytes, 2 * p.param_bytes * CALL / p.world);
    for (size_t k = 0; k < step->issue_count; k++) {
      const struct sl_op *op = &step->ops[step->issues[k].op];
      if (op->lane == SL_LANE_D2H) copied += op->dim[0];
    }
    expect(&p, "elements that leave the device", copied, p.accumulate * shard);
    fixture_close(&f);
  }
}

static void bytes_by_space(void **state) {
  (void)state;
  static const int worlds[] = {1, 2, 3, 7};
  for (int stage = 1; stage <= 3; stage++) {
    for (int w = 0; w < 4; w++) {
      for (int precision = 0; precision < 3; precision++) {
        for (int params = 0; params < (stage == 3 ? 2 : 1); params++) {
          const int accumulate = 1 + (stage + w + precision) % 2 * 2;
          compare(&(struct point){stage, worlds[w], accumulate, precision == 0 ? 4 : 2, precision == 2, params});
        }
      }
    }
  }
}

/* What leaves the device of gradients, and what of them goes to NVMe and comes back. */
static void expect_gradients_moved(const struct point *p, const struct sl_class *c, int64_t shard, bool on_nvme) {
  const struct sl_program *step = &c->programs[SL_PROGRAM_STEP];
  int64_t moved[SL_LANE_COUNT] = {0};
  for (size_t k = 0; k < step->issue_count; k++) {
    const struct sl_op *op = &step->ops[step->issues[k].op];
    if (op->payload == SL_PAYLOAD_GRADIENT) moved[op->lane] += op->dim[0];
  }
  expect(p, "gradients that leave the device", moved[SL_LANE_D2H], p->accumulate * shard);
  expect(p, "gradients that are written", moved[SL_LANE_NVME_WRITE], on_nvme ? shard : 0);
  expect(p, "gradients that are read", moved[SL_LANE_NVME_READ], on_nvme ? shard : 0);
}

enum { TENSORS = 2 + 4 * 12 + 2 };

/* Parts of gpt2-tiny's parameters, in the order of the model, in sub-groups that close with the parameter which reaches
 * `most` elements: where each ends. Returns how many there are. */
static int subgroups(int world, int64_t most, int64_t ends[TENSORS]) {
  enum { C = 128 };
  static const int64_t block[] = {C, C, 3 * C * C, 3 * C, C * C, C, C, C, 4 * C * C, 4 * C, 4 * C * C, C};
  int64_t end = 0, open = 0;
  int n = 0;
  for (int i = 0; i < TENSORS; i++) {
    const int64_t numel = i < 2             ? 256 * C
                          : i < TENSORS - 2 ? block[(i - 2) % 12]
                                            : C,
                  part = (numel + world - 1) / world;
    end += part, open += part;
    if (open < most && i + 1 < TENSORS) continue;
    ends[n++] = end;
    open = 0;
  }
  return n;
}

/* The states on NVMe are updated sub-group by sub-group. */
static void expect_subgroups(const struct point *p, const struct sl_class *c, int n, const int64_t ends[TENSORS]) {
  const struct sl_program *step = &c->programs[SL_PROGRAM_STEP];
  int i = 0;
  for (size_t k = 0; k < step->issue_count; k++) {
    const struct sl_op *op = &step->ops[step->issues[k].op];
    if (op->kind != SL_OP_ADAMW) continue;
    if (i < n) expect(p, "elements of a sub-group", op->dim[0], ends[i] - (i > 0 ? ends[i - 1] : 0));
    i++;
  }
  expect(p, "sub-groups", i, n);
}

/* On NVMe: 12 bytes a parameter of the shard and where asked the parameters, each on its own, and 4 of fp32 gradients,
 * if a step has one micro-batch. In host memory remain the gradients of several, the sets that a sub-group of states is
 * updated in, no more of them than there are sub-groups, a pool of buffers of the largest part of a parameter, the
 * updated parameters of a sub-group on their way, and the blocks of either way. */
static void bytes_on_nvme(void **state) {
  (void)state;
  enum { BLOCKS = 16384 * 3 + 4096, POOL = 2, LARGEST = 4 * 128 * 128 };
  static const int64_t sizes_of_groups[] = {65000, 1000000, 65000, 550000};
  for (int i = 0; i < 32; i++) {
    struct fixture f;
    char config[1024];
    struct point p = {
        .stage = 3, .world = 1 + i % 3, .accumulate = 1 + i % 5 / 4, .param_bytes = i % 2 ? 2 : 4, .params = i / 2 % 2};
    const int read = i / 4 % 2, write = i / 8 % 2;
    const bool gradients = p.accumulate == 1;
    int64_t shard, flat, ends[TENSORS], group = 0;
    const int64_t most = sizes_of_groups[i / 8];
    const int n = subgroups(p.world, most, ends), asked = 1 + read + write, sets = asked < n ? asked : n;
    for (int k = 0; k < n; k++) group = largest(group, ends[k] - (k > 0 ? ends[k - 1] : 0));
    sizes(&p, &shard, &flat);
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": "
             "%s}, \"optimizer\": {\"type\": \"AdamW\"}, "
             "\"aio\": {\"block_size\": 16384, \"queue_depth\": 3}, \"zero_optimization\": {\"stage\": 3, "
             "\"sub_group_size\": %lld, \"offload_optimizer\": {\"device\": \"nvme\", \"nvme_path\": \"x\", "
             "\"pipeline_read\": %s, \"pipeline_write\": %s}, \"offload_param\": {\"device\": \"%s\", \"nvme_path\": "
             "\"x\", \"max_in_cpu\": 0, \"buffer_count\": 2}, \"stage3_param_persistence_threshold\": 0}}",
             p.accumulate, p.param_bytes == 2 ? "true" : "false", (long long)most, read ? "true" : "false",
             write ? "true" : "false", p.params ? "nvme" : "cpu");
    if (fixture_open(&f, "gpt2-tiny", config, "localhost", p.world, NULL) != SL_OK)
      fail_msg("%s: %s", config, sl_error_message());
    const struct sl_class *c = &f.job.classes[0];
    const struct sl_memory_report *host = &c->memory[SL_SPACE_HOST], *nvme = &c->memory[SL_SPACE_NVME];
    const int64_t part = (LARGEST + p.world - 1) / p.world;
    expect(&p, "optimizer states on NVMe", nvme->state_bytes[SL_CATEGORY_OPTIMIZER], 12 * shard);
    expect(&p, "parameters on NVMe", nvme->state_bytes[SL_CATEGORY_PARAMETER], p.params ? p.param_bytes * shard : 0);
    expect(&p, "NVMe", c->arena_bytes[SL_SPACE_NVME],
           (3 + gradients) * round_up(4 * shard, SL_ALIGN) +
               (p.params ? round_up(p.param_bytes * shard, SL_ALIGN) : 0));
    expect(&p, "optimizer states in host memory", host->state_bytes[SL_CATEGORY_OPTIMIZER], sets * 12 * group);
    expect(&p, "gradients in host memory that stay", host->state_bytes[SL_CATEGORY_GRADIENT],
           gradients ? sets * 4 * group : 0);
    expect_gradients_moved(&p, c, shard, gradients);
    expect_subgroups(&p, c, n, ends);
    expect(&p, "parameters in host memory that stay", host->state_bytes[SL_CATEGORY_PARAMETER],
           p.params ? POOL * p.param_bytes * part : p.param_bytes * shard);
    expect(&p, "blocks on their way", host->state_bytes[SL_CATEGORY_COMMUNICATION], 2 * BLOCKS);
    if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
    fixture_close(&f);
  }
}

/* Elements of the first int((1 - ratio) n) of n sub-groups, and of those that end within `limit`. */
static void count_subgroups(int world, int64_t most, double ratio, int64_t limit, int64_t *device, int64_t *within) {
  int64_t ends[TENSORS];
  const int n = subgroups(world, most, ends), first = (int)((1 - ratio) * n);
  *device = first > 0 ? ends[first - 1] : 0;
  *within = 0;
  for (int i = 0; i < n && ends[i] <= limit; i++) *within = ends[i];
}

/* Twin-Flow: states and gradients of the first sub-groups are on the device, of the others in host memory or on NVMe.
 * max_in_cpu: parameters of the first sub-groups are in host memory, of the others on NVMe. */
static void bytes_in_two_memories(void **state) {
  (void)state;
  enum { POOL = 2, LARGEST = 4 * 128 * 128, MOST = 70000 };
  static const double ratios[] = {0, 0.35, 0.6, 0.99};
  static const int64_t limits[] = {1000, 200000, 300001, 400000};
  for (int i = 0; i < 12; i++) {
    struct fixture f;
    char config[1024];
    struct point p = {.stage = 3, .world = 1 + i % 3, .accumulate = 1, .param_bytes = i % 2 ? 2 : 4, .params = true};
    int64_t shard, flat, on_device, within;
    const bool states_on_nvme = i % 3 == 2;
    sizes(&p, &shard, &flat);
    count_subgroups(p.world, MOST, ratios[i % 4], limits[i / 3], &on_device, &within);
    const int64_t others = shard - on_device;
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": %s}, \"optimizer\": {\"type\": \"AdamW\"}, "
        "\"zero_optimization\": {\"stage\": 3, \"sub_group_size\": %d, \"reduce_bucket_size\": 100000, "
        "\"offload_optimizer\": {\"device\": \"%s\", \"nvme_path\": \"x\", \"ratio\": %g}, \"offload_param\": "
        "{\"device\": \"nvme\", "
        "\"nvme_path\": \"x\", \"max_in_cpu\": %lld, \"buffer_count\": %d}, \"stage3_param_persistence_threshold\": "
        "0}}",
        p.param_bytes == 2 ? "true" : "false", MOST, states_on_nvme ? "nvme" : "cpu", ratios[i % 4],
        (long long)limits[i / 3], POOL);
    if (fixture_open(&f, "gpt2-tiny", config, "localhost", p.world, NULL) != SL_OK)
      fail_msg("%s: %s", config, sl_error_message());
    const struct sl_class *c = &f.job.classes[0];
    const struct sl_memory_report *host = &c->memory[SL_SPACE_HOST], *device = &c->memory[SL_SPACE_DEVICE],
                                  *nvme = &c->memory[SL_SPACE_NVME];
    const int64_t pool = POOL * p.param_bytes * ((LARGEST + p.world - 1) / p.world);
    expect(&p, "optimizer states on the device", device->state_bytes[SL_CATEGORY_OPTIMIZER], 12 * on_device);
    expect(&p, "optimizer states on NVMe", nvme->state_bytes[SL_CATEGORY_OPTIMIZER], states_on_nvme ? 12 * others : 0);
    if (!states_on_nvme) {
      expect(&p, "optimizer states in host memory", host->state_bytes[SL_CATEGORY_OPTIMIZER], 12 * others);
      expect(&p, "gradients in host memory", host->category_max[SL_CATEGORY_GRADIENT], round_up(4 * others, SL_ALIGN));
    }
    if (states_on_nvme)
      expect(&p, "gradients on NVMe", nvme->category_max[SL_CATEGORY_GRADIENT], round_up(4 * others, SL_ALIGN));
    expect(&p, "parameters in host memory that stay", host->state_bytes[SL_CATEGORY_PARAMETER],
           within == shard ? p.param_bytes * shard : pool + p.param_bytes * within);
    expect(&p, "parameters on NVMe", nvme->state_bytes[SL_CATEGORY_PARAMETER], p.param_bytes * (shard - within));
    if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
    fixture_close(&f);
  }
}

/* Twin-Flow: what the device keeps of gradients is moved there beside the backward, on the lane of its reduction. */
static void device_gradients_stay_beside_the_backward(void **state) {
  (void)state;
  static const double ratios[] = {0, 0.6};
  for (int i = 0; i < 12; i++) {
    struct fixture f;
    char config[600];
    const struct point p = {.stage = 3, .world = 1 + i % 3, .accumulate = i < 6 ? 1 : 3, .param_bytes = 2};
    int64_t on_device, unused, moved = 0;
    count_subgroups(p.world, 70000, ratios[i % 2], 0, &on_device, &unused);
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": "
             "true}, \"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": {\"stage\": 3, \"sub_group_size\": "
             "70000, \"reduce_bucket_size\": 100000, \"overlap_comm\": true, \"offload_optimizer\": {\"device\": "
             "\"cpu\", \"ratio\": %g}}}",
             p.accumulate, ratios[i % 2]);
    if (fixture_open(&f, "gpt2-tiny", config, "localhost", p.world, NULL) != SL_OK || sl_check(&f.job) != SL_OK)
      fail_msg("%s: %s", config, sl_error_message());
    const struct sl_class *c = &f.job.classes[0];
    const struct sl_program *step = &c->programs[SL_PROGRAM_STEP];
    const enum sl_lane reductions = sl_lane_of_group(f.plan.pp_ranks[0].layouts[0].group.scatter);
    for (size_t k = 0; k < step->issue_count; k++) {
      const struct sl_op *op = &step->ops[step->issues[k].op];
      if (op->phase != SL_PHASE_BACKWARD || (op->kind != SL_OP_COPY && op->kind != SL_OP_ADD)) continue;
      if (step->slices[op->slice + 1].buffer != c->role[SL_ROLE_GRAD].buffer) continue;
      if (op->lane != reductions) fail_msg("%s: gradients are moved on lane %s", config, sl_lane_name(op->lane));
      moved += op->dim[0];
    }
    expect(&p, "gradients that the device keeps", moved, p.accumulate * on_device);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_by_space), cmocka_unit_test(gradients_leave_by_call),
                                     cmocka_unit_test(bytes_on_nvme), cmocka_unit_test(bytes_in_two_memories),
                                     cmocka_unit_test(device_gradients_stay_beside_the_backward)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
