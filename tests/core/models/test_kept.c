/* label: unit
 * Memory of the kernel set torch-eager against PyTorch's of transformers' own models (tests/golden/make_kept.py): what a
 * block keeps for its backward, to the byte, and the peak of a step with gradient checkpointing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <jansson.h>

#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

/* Bytes of activations that the forward writes and the backward reads. */
static int64_t kept_bytes(const struct fixture *f) {
  const struct sl_class *c = &f->job.classes[0];
  const struct sl_program *p = fixture_step(f);
  bool *kept = calloc(c->buffer_count, sizeof *kept);
  int64_t bytes = 0;
  assert_non_null(kept);
  for (size_t i = 0; i < p->op_count; i++)
    for (int k = 0; k < p->ops[i].slice_count; k++) {
      const struct sl_slice *s = &sl_op_slices(p, &p->ops[i])[k];
      if (c->buffers[s->buffer].category != SL_CATEGORY_ACTIVATION) continue;
      if (p->ops[i].phase == SL_PHASE_FORWARD && s->access != SL_READ) kept[s->buffer] = true;
      if (p->ops[i].phase != SL_PHASE_BACKWARD || s->access == SL_WRITE || !kept[s->buffer]) continue;
      bytes += c->buffers[s->buffer].bytes;
      kept[s->buffer] = false;
    }
  free(kept);
  return bytes;
}

/* The same of one of a case's models, in "TYPE ATTENTION". */
static int64_t kept_of(const json_t *doc, const json_t *one, const char *which, const char *how) {
  char config[512];
  struct fixture f;
  const char *types = how[0] == 'b'   ? "\"bf16\": {\"enabled\": true}, "
                      : how[0] == 'a' ? "\"torch_autocast\": {\"enabled\": true, \"dtype\": \"bfloat16\"}, "
                                      : "";
  json_t *section = json_deep_copy(json_object_get(one, "shardlab"));
  json_object_set(section, "seq_len", json_object_get(doc, "seq"));
  json_object_set_new(section, "attention", json_string(strchr(how, ' ') + 1));
  char *model = json_dumps(json_object_get(one, which), 0), *keys = json_dumps(section, 0);
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": %lld, %s\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": %s}",
           (long long)json_integer_value(json_object_get(doc, "batch")), types, keys);
  if (fixture_open(&f, model, config, "dgx-h100", 1, NULL) != SL_OK) fail_msg("%s: %s", model, sl_error_message());
  const int64_t bytes = kept_bytes(&f);
  fixture_close(&f);
  json_decref(section);
  free(model);
  free(keys);
  return bytes;
}

static void a_block_keeps_what_pytorch_keeps(void **state) {
  (void)state;
  json_t *doc = json_load_file(SL_SOURCE_DIR "/tests/golden/transformers_kept.json", 0, NULL);
  const char *name, *how;
  json_t *one, *want;
  int wrong = 0, all = 0;
  json_object_foreach(json_object_get(doc, "models"), name, one) {
    json_object_foreach(json_object_get(one, "bytes"), how, want) {
      const int64_t two = kept_of(doc, one, "more", how) - kept_of(doc, one, "few", how);
      all++;
      if (two == json_integer_value(want)) continue;
      wrong++;
      print_error("%s, %s: two blocks keep %lld bytes, PyTorch's %lld\n", name, how, (long long)two,
                  (long long)json_integer_value(want));
    }
  }
  assert_int_equal(wrong, 0);
  assert_true(all > 130);
  json_decref(doc);
}

/* ---- the peak ---- */

/* The most that is live, but for an optimizer's states, which the other side does not have. */
static double peak_of(const json_t *model, bool bf16, int64_t batch, int64_t seq) {
  char config[512];
  struct fixture f;
  char *text = json_dumps(model, JSON_COMPACT);
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": %lld, %s\"optimizer\": {\"type\": \"SGD\"}, \"shardlab\": {\"preset\": "
      "\"ddp\", \"seq_len\": %lld, \"recompute\": \"full\", \"kernels\": \"torch-eager\"}}",
      (long long)batch, bf16 ? "\"bf16\": {\"enabled\": true}, \"data_types\": {\"grad_accum_dtype\": \"bf16\"}, " : "",
      (long long)seq);
  if (fixture_open(&f, text, config, "dgx-h100", 1, NULL) != SL_OK) fail_msg("%s: %s", text, sl_error_message());
  const struct sl_memory_report *m = &f.job.classes[0].memory[SL_SPACE_DEVICE];
  const double bytes = (double)(m->live_peak_bytes - m->at_peak[SL_CATEGORY_OPTIMIZER]);
  fixture_close(&f);
  free(text);
  return bytes;
}

/* PyTorch's has the tables of rotary positions, too, of 0.1 % at most. */
static void a_step_needs_what_pytorch_needs(void **state) {
  (void)state;
  json_t *doc = json_load_file(SL_SOURCE_DIR "/tests/golden/transformers_peaks.json", 0, NULL);
  const int64_t batch = json_integer_value(json_object_get(doc, "batch")),
                seq = json_integer_value(json_object_get(doc, "seq"));
  const char *name, *type;
  json_t *model, *want;
  int wrong = 0, all = 0;
  json_object_foreach(json_object_get(doc, "models"), name, model) {
    json_object_foreach(json_object_get(model, "bytes"), type, want) {
      const double wanted = json_number_value(want),
                   got = peak_of(json_object_get(model, "model"), strcmp(type, "bf16") == 0, batch, seq);
      all++;
      if (got > 0.998 * wanted && got < 1.001 * wanted) continue;
      wrong++;
      print_error("%s, %s: a step needs %.0f bytes, PyTorch's %.0f (%+.2f %%)\n", name, type, got, wanted,
                  100 * (got / wanted - 1));
    }
  }
  assert_int_equal(wrong, 0);
  assert_true(all > 10);
  json_decref(doc);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_block_keeps_what_pytorch_keeps),
                                     cmocka_unit_test(a_step_needs_what_pytorch_needs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
