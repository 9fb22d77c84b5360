/* Input: which sequences or samples a micro-batch is, and their bytes.
 *
 * Global batch s is draws s B .. (s+1) B of the data's order; a data-parallel rank takes its contiguous share of it and
 * cuts that into micro-batches. */
#include "backend/host/host.h"

#include "kernels/convert.h"
#include "kernels/philox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM "random:"

static bool is_mlp(const struct sl_host *host) {
  return host->job->plan->model->type == SL_MODEL_MLP;
}

static enum sl_status random_samples(struct sl_host *host, const char *text) {
  char *end;
  errno = 0;
  long long n = strtoll(text + strlen(RANDOM), &end, 10);
  if (errno || *end || n < 1)
    return sl_fail(SL_ERR_INPUT, "data \"%s\": expected random:N with a number of samples N of at least 1", text);
  host->samples = n;
  return SL_OK;
}

enum sl_status sl_host_data_open(struct sl_host *host) {
  const struct sl_plan *plan = host->job->plan;
  const char *name = host->options.data;
  if (!name && is_mlp(host)) name = "random:65536";
  if (!name) return sl_fail(SL_ERR_INPUT, "no data: name a text file or a token shard");
  bool random = strncmp(name, RANDOM, strlen(RANDOM)) == 0;
  if (is_mlp(host) && !random) return sl_fail(SL_ERR_INPUT, "data \"%s\": an mlp takes random:N samples", name);
  if (is_mlp(host)) return random_samples(host, name);
  if (random) return sl_fail(SL_ERR_INPUT, "data \"%s\": a language model takes a text file or a token shard", name);
  SL_TRY(sl_data_open(&host->data, name));
  host->has_data = true;
  SL_TRY(sl_data_check(&host->data, plan->seq, plan->model->vocab_size));
  host->samples = sl_data_sequences(&host->data, plan->seq);
  return SL_OK;
}

int64_t sl_host_first_sequence(const struct sl_host *host, const struct sl_issued *it) {
  const struct sl_plan *plan = host->job->plan;
  int64_t micro = it->instance->micro_batch < 0 ? 0 : it->instance->micro_batch;
  return host->coord.dp * plan->micro_batch * plan->n_micro + micro * plan->micro_batch;
}

static int64_t draw(const struct sl_host *host, int64_t k) {
  const struct sl_config *config = host->job->plan->config;
  return config->sl.shuffle ? sl_data_order(host->samples, (uint64_t)config->sl.seed, k) : k % host->samples;
}

/* Sample i is elements [i width, (i+1) width) of one long run of standard normal numbers; tensor 0 inputs, 1 targets.
 * Row `b` of `matrix` gets them, in the op's type. */
static void random_row(const struct sl_host *host, const struct sl_issued *it, uint32_t tensor, void *matrix, int64_t b,
                       int64_t sample, int64_t width) {
  const struct sl_philox_key key = {(uint32_t)host->job->plan->config->sl.seed, SL_STREAM_DATA, 0, tensor};
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

/* Inputs and targets, or those of the two that this stage of a pipeline needs. */
enum sl_status sl_host_load_batch(struct sl_host *host, const struct sl_issued *it) {
  const struct sl_plan *plan = host->job->plan;
  const struct sl_model *model = plan->model;
  const bool apart = it->op->flags & (SL_OP_INPUTS_ONLY | SL_OP_TARGETS_ONLY);
  void *inputs = it->op->flags & SL_OP_TARGETS_ONLY ? NULL : sl_host_operand(host, it, 0);
  void *targets = it->op->flags & SL_OP_INPUTS_ONLY ? NULL : sl_host_operand(host, it, apart ? 0 : 1);
  int64_t first = host->step * plan->global_batch + sl_host_first_sequence(host, it);
  for (int64_t b = 0; b < it->op->dim[0]; b++) {
    int64_t i = draw(host, first + b);
    if (is_mlp(host)) {
      if (inputs) random_row(host, it, 0, inputs, b, i, model->dims[0]);
      if (targets) random_row(host, it, 1, targets, b, i, model->dims[model->n_dims - 1]);
    } else {
      SL_TRY(sl_data_sequence(&host->data, i, plan->seq, model->vocab_size,
                              inputs ? (int32_t *)inputs + b * plan->seq : NULL,
                              targets ? (int32_t *)targets + b * plan->seq : NULL));
    }
  }
  return SL_OK;
}
