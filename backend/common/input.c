/* Micro-batches from files and from random numbers; see input.h. */
#include "backend/common/input.h"
#include "backend/common/streams.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/op/chunks.h"
#include "kernels/convert.h"
#include "kernels/philox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM "random:"

static bool is_mlp(const struct sl_plan *plan) {
  return !sl_model_reads_tokens(plan->model);
}

static enum sl_status random_samples(struct sl_input *input, const char *text) {
  char *end;
  errno = 0;
  long long n = strtoll(text + strlen(RANDOM), &end, 10);
  if (errno || *end || n < 1 || n > SL_MAX_SAMPLES)
    return sl_fail(SL_ERR_INPUT, "data \"%s\": expected random:N with a number of samples N from 1 to %lld", text,
                   (long long)SL_MAX_SAMPLES);
  input->samples = n;
  return SL_OK;
}

/* A part of a source; all of it if `split` is NULL. */
struct source {
  const char *name, *split;
  enum sl_data_part part;
};

static enum sl_status open_tokens(struct sl_data *data, const struct sl_plan *plan, const struct source *source,
                                  const struct sl_data_text *text, bool *has, int64_t *samples) {
  SL_TRY(sl_data_open_part(data, source->name, text, source->split, source->part));
  *has = true;
  SL_TRY(sl_data_check(data, plan->seq, plan->model->vocab_size));
  *samples = sl_data_sequences(data, plan->seq);
  return SL_OK;
}

static enum sl_status open_training(struct sl_input *input, const struct sl_exec_options *options) {
  const char *name = options->data;
  const struct sl_plan *plan = input->plan;
  if (!name && is_mlp(plan)) name = "random:65536";
  if (!name) return sl_fail(SL_ERR_INPUT, "no data: name a text file or a token shard");
  bool random = strncmp(name, RANDOM, strlen(RANDOM)) == 0;
  if (is_mlp(plan) && !random) return sl_fail(SL_ERR_INPUT, "data \"%s\": an mlp takes random:N samples", name);
  if (is_mlp(plan)) return random_samples(input, name);
  if (random) return sl_fail(SL_ERR_INPUT, "data \"%s\": a language model takes a text file or a token shard", name);
  const struct source source = {name, options->split, SL_DATA_TRAINING};
  return open_tokens(&input->data, plan, &source, &options->text, &input->has_data, &input->samples);
}

enum sl_status sl_input_open(struct sl_input *input, const struct sl_plan *plan,
                             const struct sl_exec_options *options) {
  *input = (struct sl_input){.plan = plan};
  SL_TRY(open_training(input, options));
  const bool part = options->val_data == NULL && options->split != NULL && plan->config->sl.eval_interval > 0;
  const struct source source = {part ? options->data : options->val_data, part ? options->split : NULL,
                                SL_DATA_VALIDATION};
  if (source.name != NULL)
    return open_tokens(&input->val_data, plan, &source, &options->text, &input->has_val_data, &input->val_samples);
  input->val_samples = sl_data_held_out(input->samples, options->val_split);
  input->samples -= input->val_samples;
  input->val_first = input->samples;
  return SL_OK;
}

void sl_input_close(struct sl_input *input) {
  if (input->has_data) sl_data_close(&input->data);
  if (input->has_val_data) sl_data_close(&input->val_data);
  *input = (struct sl_input){0};
}

int64_t sl_input_first_sequence(const struct sl_plan *plan, int dp, const struct sl_issued *it) {
  int64_t micro = it->instance->micro_batch < 0 ? 0 : it->instance->micro_batch;
  return dp * plan->micro_batch * plan->n_micro + micro * plan->micro_batch;
}

static bool evaluates(const struct sl_issued *it) {
  return it->program->kind == SL_PROGRAM_EVAL;
}

/* Evaluations read the same sequences every time, so that their losses can be compared. */
static int64_t draw(const struct sl_input *input, bool evaluates, int64_t k) {
  const struct sl_config *config = input->plan->config;
  if (evaluates) return input->val_first + k % input->val_samples;
  return config->sl.shuffle ? sl_data_order(input->samples, (uint64_t)config->sl.seed, k) : k % input->samples;
}

/* Sample i is elements [i width, (i+1) width) of one long run of standard normal numbers; tensor 0 inputs, 1 targets.
 * Row `b` of `matrix` gets them, in the op's type. */
static void random_row(const struct sl_input *input, const struct sl_issued *it, uint32_t tensor, void *matrix,
                       int64_t b, int64_t sample, int64_t width) {
  const struct sl_philox_key key = sl_stream_key(input->plan->config->sl.seed, SL_STREAM_DATA, 0, tensor);
  const enum sl_number type = (enum sl_number)it->op->dtype;
  char *out = (char *)matrix + b * width * (int64_t)sl_convert_bytes(type);
  enum { PIECE = 256 };
  float values[PIECE];
  for (int64_t at = 0; at < width; at += PIECE) {
    const size_t n = (size_t)(width - at < PIECE ? width - at : PIECE);
    sl_philox_normal(values, &key, (uint64_t)(sample * width + at), n, 0, 1);
    sl_convert_chunk(out + at * (int64_t)sl_convert_bytes(type), type, values, SL_NUMBER_F32, n);
  }
}

int64_t sl_input_first_sample(const struct sl_input *input, const struct sl_exec_options *options,
                              const struct sl_issued *it, int64_t step) {
  const struct sl_plan *plan = input->plan;
  if (evaluates(it)) return sl_product(step, plan->global_batch);
  return sl_sum(options->first_sample, sl_product(step - options->first_step, plan->global_batch));
}

/* The rank's chunks of a sequence. */
static void take_chunks(int32_t *out, const int32_t *sequence, struct sl_chunks chunks) {
  const size_t bytes = (size_t)chunks.tokens * sizeof *out;
  if (out == NULL) return;
  memcpy(out, sequence + chunks.first[0], bytes);
  memcpy(out + chunks.tokens, sequence + chunks.first[1], bytes);
}

/* Tokens of sequence `i` of the data: all, or of the one that a cp group shares the rank's. */
static enum sl_status tokens(const struct sl_input *input, const struct sl_issued *it, int cp, int64_t i,
                             int32_t *inputs, int32_t *targets) {
  const struct sl_data *data = evaluates(it) && input->has_val_data ? &input->val_data : &input->data;
  const int64_t seq = input->plan->seq, vocab = input->plan->model->vocab_size;
  const struct sl_chunks chunks = sl_chunks_of(it->op->dim[1], sl_op_cp(it->op), cp);
  int32_t *whole;
  if (sl_op_cp(it->op) == 1) return sl_data_sequence(data, i, seq, vocab, inputs, targets);
  SL_TRY(sl_calloc(&whole, (size_t)sl_product(2, seq), sizeof *whole));
  const enum sl_status status = sl_data_sequence(data, i, seq, vocab, whole, whole + seq);
  take_chunks(inputs, whole, chunks);
  take_chunks(targets, whole + seq, chunks);
  free(whole);
  return status;
}

enum sl_status sl_input_batch(const struct sl_input *input, struct sl_coord rank, int64_t first_sample,
                              const struct sl_issued *it, void *inputs, void *targets) {
  const struct sl_plan *plan = input->plan;
  const struct sl_model *model = plan->model;
  const int64_t first = first_sample + sl_input_first_sequence(plan, rank.dp, it), width = it->op->dim[1];
  if (evaluates(it) && input->val_samples == 0)
    return sl_fail(SL_ERR_INPUT, "no validation data; expected a file of it, or a part of the data to split off");
  for (int64_t b = 0; b < it->op->dim[0]; b++) {
    int64_t i = draw(input, evaluates(it), first + b);
    if (is_mlp(plan)) {
      if (inputs) random_row(input, it, 0, inputs, b, i, model->dims[0]);
      if (targets) random_row(input, it, 1, targets, b, i, model->dims[model->n_dims - 1]);
    } else {
      SL_TRY(tokens(input, it, rank.cp, i, inputs ? (int32_t *)inputs + b * width : NULL,
                    targets ? (int32_t *)targets + b * width : NULL));
    }
  }
  return SL_OK;
}
