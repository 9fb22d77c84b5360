/* Steps of small models of odd sizes, lowered like any other: their ops have the same neighbours, cache contents and
 * overlapping communication as in training. */
#include "calibrate/calibration.h"
#include "core/job/job.h"

#include <stdio.h>
#include <string.h>

static void describe(char *text, size_t size, const struct sl_calibration_model *m) {
  const double p = m->dropout ? 0.1 : 0;
  if (m->inner > 0)
    snprintf(text, size,
             "{\"model_type\":\"llama\",\"vocab_size\":%d,\"max_position_embeddings\":%d,\"num_hidden_layers\":%d,"
             "\"hidden_size\":%d,\"num_attention_heads\":%d,\"num_key_value_heads\":%d,\"intermediate_size\":%d}",
             m->vocab, m->positions, m->layers, m->width, m->heads, m->kv_heads, m->inner);
  else
    snprintf(text, size,
             "{\"model_type\":\"gpt2\",\"vocab_size\":%d,\"n_positions\":%d,\"n_layer\":%d,\"n_embd\":%d,\"n_head\":%d,"
             "\"embd_pdrop\":%g,\"attn_pdrop\":%g,\"resid_pdrop\":%g}",
             m->vocab, m->positions, m->layers, m->width, m->heads, p, p, p);
}

enum sl_status sl_calibration_plan(struct sl_calibration_model_job *in, const char *name, const char *model,
                                   const char *config, const char *cluster, int ranks) {
  struct sl_json doc;
  memset(in, 0, sizeof *in);
  SL_TRY(sl_json_parse(&doc, name, model, strlen(model)));
  const enum sl_status status = sl_model_from_json(&in->model, &doc);
  sl_json_free(&doc);
  SL_TRY(status);
  SL_TRY(sl_config_parse(&in->config, name, config, strlen(config), false));
  SL_TRY(sl_cluster_load(&in->cluster, cluster));
  return sl_plan_build(&in->plan, &in->model, &in->config, &in->cluster, ranks);
}

void sl_calibration_model_close(struct sl_calibration_model_job *in) {
  sl_job_free(&in->job);
  sl_plan_free(&in->plan);
  sl_cluster_free(&in->cluster);
  sl_config_free(&in->config);
  sl_model_free(&in->model);
}

/* A loss scale at which no gradient of these models overflows: a skipped update would take no time. */
static const char *precision(enum sl_dtype dtype) {
  if (dtype == SL_BF16) return "\"bf16\":{\"enabled\":true},";
  return dtype == SL_F16 ? "\"fp16\":{\"enabled\":true,\"loss_scale\":128}," : "";
}

enum sl_status sl_calibration_model_open(struct sl_calibration_model_job *in, const struct sl_calibration_model *m,
                                         const char *cluster, int ranks) {
  char model[512], config[6000];
  const struct sl_build_options build = {0};
  describe(model, sizeof model, m);
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\":%d,\"gradient_accumulation_steps\":%d,"
           "\"optimizer\":{\"type\":\"AdamW\",\"params\":{\"lr\":0.0001}},\"gradient_clipping\":1.0,"
           "\"zero_optimization\":{\"stage\":%d%s},%s%s\"shardlab\":{\"seq_len\":%d,\"attention\":\"%s\",\"tf32\":%s}}",
           m->micro, m->accumulation, m->stage, m->zero != NULL ? m->zero : "", m->more != NULL ? m->more : "",
           precision(m->dtype), m->seq, m->flash ? "flash" : "materialised", m->dtype == SL_TF32 ? "true" : "false");
  SL_TRY(sl_calibration_plan(in, m->name, model, config, cluster, ranks));
  return sl_job_build(&in->job, &in->plan, &build);
}

enum sl_status sl_calibration_model_run(struct sl_calibration *c, const struct sl_calibration_model *m) {
  struct sl_calibration_model_job in;
  struct sl_point_step step = {0};
  enum sl_status status;
  snprintf(step.name, sizeof step.name, "%s", m->name);
  SL_GO(sl_calibration_model_open(&in, m, c->grid->cluster, c->ranks));
  SL_GO(sl_calibration_run(c, &in.job, 3, m->name, false, &step));
  SL_GO(sl_points_add_step(&c->points, &step));
done:
  sl_calibration_model_close(&in);
  return status;
}

enum sl_status sl_calibration_models_run(struct sl_calibration *c) {
  for (int i = 0; i < c->grid->model_count; i++) {
    const struct sl_calibration_model *m = &c->grid->models[i];
    if ((c->quick && !m->quick) || (m->dtype == SL_TF32 && !c->tf32)) continue;
    SL_TRY(sl_calibration_model_run(c, m));
    if (c->progress != NULL) c->progress(c->progress_context, (double)(i + 1) / c->grid->model_count);
  }
  return SL_OK;
}
