/* A job from strings, for tests: model spec, config text, cluster preset, world. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "core/job/job.h"
#include "core/program/program.h"

struct fixture {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
  struct sl_plan plan;
  struct sl_job job;
};

static char fixture_warnings[4096]; /* of the latest fixture_open, one per line */

static void fixture_warning(void *context, const char *message) {
  (void)context;
  const size_t n = strlen(fixture_warnings);
  snprintf(fixture_warnings + n, sizeof fixture_warnings - n, "%s\n", message);
}

/* Builds the job; `options` NULL = defaults. On failure the message is in sl_error_message(). */
static inline enum sl_status fixture_open(struct fixture *f, const char *model, const char *config, const char *cluster,
                                          int world, const struct sl_build_options *options) {
  const struct sl_build_options none = {0};
  memset(f, 0, sizeof *f);
  fixture_warnings[0] = '\0';
  sl_error_clear();
  sl_warn_set_sink(fixture_warning, NULL);
  SL_TRY(sl_model_load(&f->model, model));
  SL_TRY(sl_config_parse(&f->config, "test.json", config, strlen(config), false));
  SL_TRY(sl_cluster_load(&f->cluster, cluster));
  SL_TRY(sl_plan_build(&f->plan, &f->model, &f->config, &f->cluster, world));
  return sl_job_build(&f->job, &f->plan, options != NULL ? options : &none);
}

static inline void fixture_close(struct fixture *f) {
  sl_job_free(&f->job);
  sl_plan_free(&f->plan);
  sl_cluster_free(&f->cluster);
  sl_config_free(&f->config);
  sl_model_free(&f->model);
}

/* The step of the first class. */
static inline const struct sl_program *fixture_step(const struct fixture *f) {
  return &f->job.classes[0].programs[SL_PROGRAM_STEP];
}

/* Bytes of a slot of each buffer of the class that is called `name`, in all. */
static inline int64_t fixture_bytes_named(const struct sl_class *c, const char *name) {
  int64_t bytes = 0;
  for (size_t i = 0; i < c->buffer_count; i++)
    if (strcmp(c->buffers[i].name, name) == 0) bytes += c->buffers[i].bytes;
  return bytes;
}

/* Issues of the first class's step that are called `label`. */
static inline int fixture_count(const struct fixture *f, const char *label) {
  const struct sl_program *p = fixture_step(f);
  int n = 0;
  for (size_t i = 0; i < p->issue_count; i++) n += strcmp(sl_op_label(&p->ops[p->issues[i].op]), label) == 0;
  return n;
}
