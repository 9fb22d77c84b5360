/* Modules and their shares; see module_profile.h. */
#include "core/run/module_profile.h"

#include "core/op/flops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static int find(const struct sl_module_profile *p, const char *name) {
  for (size_t i = 0; i < p->count; i++)
    if (strcmp(p->rows[i].name, name) == 0) return (int)i;
  return -1;
}

/* `name` without its last part. */
static void around(char out[64], const char *name) {
  const char *dot = strrchr(name, '.');
  snprintf(out, 64, "%.*s", dot != NULL ? (int)(dot - name) : 0, name);
}

static int depth_of(const char *name) {
  int depth = name[0] != '\0';
  for (const char *c = name; *c != '\0'; c++) depth += *c == '.';
  return depth;
}

/* The row of a module; creates it, and those of the modules that contain it, if it is new. */
static enum sl_status row_of(struct sl_module_profile *p, const char *name, int *row) {
  *row = find(p, name);
  if (*row >= 0) return SL_OK;
  int parent = -1;
  if (name[0] != '\0') {
    char outer[64];
    around(outer, name);
    SL_TRY(row_of(p, outer, &parent)); /* recursion as deep as the name has parts */
  }
  SL_TRY(sl_grow(&p->rows, &p->capacity, p->count + 1, sizeof *p->rows));
  struct sl_module_row *r = &p->rows[p->count];
  *r = (struct sl_module_row){.depth = depth_of(name), .parent = parent};
  snprintf(r->name, sizeof r->name, "%s", name);
  *row = (int)p->count++;
  return SL_OK;
}

/* ---- the module of an op ---- */

/* "h.0" of "h.0.attn.c_proj": up to the number of the layer. */
static void block_of(char out[64], const char *name) {
  const char *dot = strchr(name, '.'), *end = dot != NULL ? strchr(dot + 1, '.') : NULL;
  snprintf(out, 64, "%.*s", end != NULL ? (int)(end - name) : (int)strlen(name), name);
}

struct walk {
  struct sl_module_profile *p;
  const struct sl_plan *plan;
  const struct sl_pp_rank *pp_rank;
  char weighted[64]; /* the module of the latest op with a weight */
};

static void name_of(struct walk *w, const struct sl_op *op, char out[64]) {
  const struct sl_tensor *t = op->tensor >= 0 ? &w->plan->model->tensors[w->pp_rank->tensors[op->tensor].tensor] : NULL;
  if (t != NULL && t->layer < 0 && op->kind == SL_OP_GEMM) {
    snprintf(w->weighted, sizeof w->weighted, "lm_head");
  } else if (t != NULL) {
    around(w->weighted, t->name);
  } else if (op->kind == SL_OP_RESIDUAL_FWD) {
    block_of(out, w->weighted);
    return;
  } else if (sl_op_class_of(op->kind) == SL_CLASS_CONTROL || op->kind == SL_OP_CLASSIFIER || op->kind == SL_OP_MSE ||
             op->kind == SL_OP_CLASSIFIER_STATS || op->kind == SL_OP_CLASSIFIER_SHARD) {
    out[0] = '\0';
    return;
  } else {
    around(out, w->weighted);
    return;
  }
  snprintf(out, 64, "%s", w->weighted);
}

static double macs_of(const struct sl_op *op) {
  if (op->kind == SL_OP_GEMM) return (double)op->dim[0] * (double)op->dim[1] * (double)op->dim[2];
  return sl_op_class_of(op->kind) == SL_CLASS_ATTENTION ? sl_op_flops(op) / 2 : 0;
}

/* Is an instance counted? Only the forward of the step's first micro-batch, on each stage of the rank. */
static bool is_profiled(const struct sl_instance *n) {
  return n->action.kind == SL_ACTION_FORWARD && n->micro_batch == 0;
}

static enum sl_status add_program(struct walk *w, const struct sl_program *program) {
  int *rows;
  SL_TRY(sl_calloc(&rows, program->op_count, sizeof *rows));
  w->p->row_of[program->kind] = rows;
  for (size_t i = 0; i < program->op_count; i++) rows[i] = -1;
  for (size_t k = 0; k < program->instance_count; k++) {
    const struct sl_instance *n = &program->instances[k];
    for (int32_t i = n->first_op; is_profiled(n) && i < n->first_op + n->op_count; i++) {
      const struct sl_op *op = &program->ops[i];
      char name[64];
      if (op->lane != SL_LANE_COMPUTE) continue;
      name_of(w, op, name);
      SL_TRY(row_of(w->p, name, &rows[i]));
      for (int at = rows[i]; at >= 0 && program->kind == SL_PROGRAM_STEP; at = w->p->rows[at].parent)
        w->p->rows[at].macs += macs_of(op), w->p->rows[at].flops += sl_op_flops(op);
    }
  }
  return SL_OK;
}

static enum sl_status add_parameters(struct walk *w) {
  for (int i = 0; i < w->pp_rank->tensor_count; i++) {
    const struct sl_placed *t = &w->pp_rank->tensors[i];
    char name[64];
    int row;
    around(name, w->plan->model->tensors[t->tensor].name);
    SL_TRY(row_of(w->p, name, &row));
    for (int at = row; at >= 0; at = w->p->rows[at].parent) w->p->rows[at].parameters += t->numel;
  }
  return SL_OK;
}

/* A tied LM head has the embedding's parameters, which the model counts once. */
static void share_parameters(struct sl_module_profile *p, const struct sl_model *model) {
  const int head = find(p, "lm_head");
  char name[64];
  around(name, model->tensors[0].name);
  if (head >= 0 && model->tied_head) p->rows[head].parameters = p->rows[find(p, name)].parameters;
}

enum sl_status sl_module_profile_open(struct sl_module_profile *p, const struct sl_job *job, int rank) {
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  struct walk w = {.p = p, .plan = job->plan, .pp_rank = &job->plan->pp_ranks[c->pp_rank]};
  enum sl_status status;
  int row;
  *p = (struct sl_module_profile){.step = -1};
  SL_GO_FAIL(row_of(p, "", &row));
  SL_GO_FAIL(add_parameters(&w));
  SL_GO_FAIL(add_program(&w, &c->programs[SL_PROGRAM_STEP]));
  SL_GO_FAIL(add_program(&w, &c->programs[SL_PROGRAM_COMPRESSED]));
  share_parameters(p, job->plan->model);
  return SL_OK;
fail:
  sl_module_profile_free(p);
  return status;
}

void sl_module_profile_add(struct sl_module_profile *p, int64_t step, const struct sl_program *program,
                           const struct sl_completion *done) {
  const struct sl_issue_ref issue = sl_issue_find(program, done->index);
  if (!sl_program_is_step(program->kind) || !is_profiled(&program->instances[sl_issue_instance(program, issue)]))
    return;
  if (p->step != step) {
    for (size_t i = 0; i < p->count; i++) p->rows[i].time_s = 0;
    p->step = step;
  }
  for (int at = p->row_of[program->kind][issue.stored->op]; at >= 0; at = p->rows[at].parent)
    p->rows[at].time_s += done->end_s - done->start_s;
}

void sl_module_profile_free(struct sl_module_profile *p) {
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) free(p->row_of[kind]);
  free(p->rows);
  *p = (struct sl_module_profile){0};
}
