/* Steps of small models of odd sizes, lowered as any other: their ops have the neighbours, the cache contents and the
 * communication beside them that ops have in training. */
#include "cli/calibrate.h"

#include <stdio.h>
#include <string.h>

struct inputs {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
  struct sl_plan plan;
  struct sl_job job;
};

static enum sl_status load_model(struct sl_model *model, const struct sl_calibration_model *m) {
  char text[512];
  const double p = m->dropout ? 0.1 : 0;
  snprintf(text, sizeof text,
           "{\"model_type\":\"gpt2\",\"vocab_size\":%d,\"n_positions\":%d,\"n_layer\":%d,\"n_embd\":%d,\"n_head\":%d,"
           "\"embd_pdrop\":%g,\"attn_pdrop\":%g,\"resid_pdrop\":%g}",
           m->vocab, m->positions, m->layers, m->width, m->heads, p, p, p);
  struct sl_json doc;
  SL_TRY(sl_json_parse(&doc, m->name, text, strlen(text)));
  const enum sl_status status = sl_model_from_json(model, &doc);
  sl_json_free(&doc);
  return status;
}

static void free_inputs(struct inputs *in) {
  sl_job_free(&in->job);
  sl_plan_free(&in->plan);
  sl_config_free(&in->config);
  sl_model_free(&in->model);
}

static enum sl_status load(struct inputs *in, const struct sl_calibration_model *m, int ranks) {
  char text[512];
  const struct sl_build_options build = {0};
  memset(in, 0, sizeof *in);
  SL_TRY(load_model(&in->model, m));
  snprintf(text, sizeof text,
           "{\"train_micro_batch_size_per_gpu\":%d,\"gradient_accumulation_steps\":%d,"
           "\"optimizer\":{\"type\":\"AdamW\",\"params\":{\"lr\":0.0001}},\"gradient_clipping\":1.0,"
           "\"zero_optimization\":{\"stage\":%d},\"shardlab\":{\"seq_len\":%d}}",
           m->micro, m->accumulation, m->stage, m->seq);
  SL_TRY(sl_config_parse(&in->config, m->name, text, strlen(text), false));
  SL_TRY(sl_cluster_load(&in->cluster, "localhost"));
  SL_TRY(sl_plan_build(&in->plan, &in->model, &in->config, &in->cluster, ranks));
  return sl_job_build(&in->job, &in->plan, &build);
}

static enum sl_status run_model(struct sl_calibration *c, const struct sl_calibration_model *m, int pass) {
  struct inputs in;
  struct sl_point_step step = {0};
  enum sl_status status;
  snprintf(step.name, sizeof step.name, "%s", m->name);
  SL_GO(load(&in, m, c->ranks));
  SL_GO(sl_calibration_run(c, &in.job, c->quick ? 6 : 9, pass == 0 ? "model" : "model again", false, &step));
  SL_GO(sl_points_add_step(&c->points, &step));
fail:
  free_inputs(&in);
  return status;
}

enum sl_status sl_calibration_model_pass(struct sl_calibration *c, int pass) {
  for (int i = 0; i < sl_calibration_model_count; i++) {
    const struct sl_calibration_model *m = &sl_calibration_models[i];
    if (c->quick && !m->quick) continue;
    SL_TRY(run_model(c, m, pass));
    if (c->progress != NULL) c->progress(c->progress_context, (double)(i + 1) / sl_calibration_model_count);
  }
  return SL_OK;
}
