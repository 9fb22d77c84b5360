/* Measures the points of a calibration; internal to calibrate/ and cli/calibrate.c.
 *
 *   cli/calibrate.c      the command: one process per number of ranks, then the fit
 *   calibrate/shapes.c   what is measured on a CPU, and the shapes that must not be measured
 *   calibrate/gpu.c      what is measured on a GPU, and the machine it is in
 *   calibrate/bench.c    jobs built op by op: each op of the step program is a point
 *   calibrate/model.c    whole steps of small models of odd sizes: ops as they occur in training, and the step itself
 *   calibrate/offload.c  whole steps with states in host memory; copies to and from NVMe by size, block size and depth
 *   calibrate/record.c   runs a job and turns its completions into points */
#pragma once

#include "core/cluster/cluster.h"
#include "core/cluster/points.h"
#include "core/run/executor.h"

struct sl_calibration_grid;

struct sl_calibration {
  const struct sl_exec_ops *exec;
  const struct sl_calibration_grid *grid;
  int ranks, rank, threads;
  bool quick, gpu, tf32; /* tf32: also measure products in tf32 */
  bool noise;            /* gpu: the operands of the job that is run are random numbers, since no program fills them */
  /* gpu: the most device memory that a run took in addition to its arena. The first has it all, since the context is made
   * then, and should be a model's: a driver loads kernels when they are first used, and no training uses all that the
   * benchmark does */
  int64_t context_bytes;
  const char *text; /* token file of the models */
  const char *nvme; /* folder on the NVMe to measure; NULL: none */
  struct sl_points points;
  void (*progress)(void *context, double share); /* (optional) */
  void *progress_context;
};

/* --- calibrate/shapes.c --- */

struct sl_calibration_model {
  const char *name;
  int layers, width, heads, vocab, positions, seq, micro, accumulation, stage;
  bool dropout, quick;
  enum sl_dtype dtype;
  bool flash;
  int kv_heads, inner;     /* of the Llama family; 0: GPT-2 */
  const char *zero, *more; /* keys after those of "zero_optimization", and sections after it; NULL: none */
};
struct sl_calibration_product {
  int64_t m, n, k;
  bool quick;
};

struct sl_calibration_grid {
  const char *cluster; /* the preset that its plans are made for */
  const struct sl_calibration_model *models;
  const struct sl_calibration_product *products;
  const int64_t (*attentions)[4]; /* B, T, H, D */
  const int64_t (*rows)[2];       /* of element-wise kernels; even columns */
  const int64_t *lengths;         /* of kernels over flat runs */
  int model_count, product_count, attention_count, row_count, length_count;
  int64_t window_bytes; /* of each memory window that operands move through */
  int types;            /* types of products and rows: 1 is fp32, 3 also bf16 and fp16; there are as many windows */
};
/* The fields of a grid whose tables are in the same file under the fields' names. */
#define SL_CALIBRATION_TABLES                                                                                          \
  .models = models, .products = products, .attentions = attentions, .rows = rows, .lengths = lengths,                  \
  .model_count = SL_LENGTH(models), .product_count = SL_LENGTH(products), .attention_count = SL_LENGTH(attentions),    \
  .row_count = SL_LENGTH(rows), .length_count = SL_LENGTH(lengths)
#define SL_LENGTH(table) (sizeof(table) / sizeof *(table))
extern const struct sl_calibration_grid sl_calibration_host, sl_calibration_gpu;

/* --- calibrate/gpu.c --- */

/* The cluster of these devices from data sheets: a preset found by the device's name, with the values that the device
 * reports. */
enum sl_status sl_calibration_gpu_cluster(struct sl_cluster *cluster, const struct sl_exec_devices *devices);

/* --- calibrate/record.c --- */

/* Run `steps` steps of `job` and add a point per distinct op of the step program, with the times of the rank that
 * computes longest in each step; `step` (optional) gets the whole step. Points of communication are added only where
 * `communication` is set. Collective over the ranks. */
enum sl_status sl_calibration_run(struct sl_calibration *c, const struct sl_job *job, int64_t steps, const char *source,
                                  bool communication, struct sl_point_step *step);

/* Chooses among the times that the ranks noted, `all` [rank][issue][step], those of the rank whose compute took longest
 * in each step, and writes them to `seconds` [issue][step]; of equal ranks the first. */
void sl_calibration_follow_slowest(double *seconds, const double *all, int ranks, const struct sl_program *program,
                                   int64_t steps);

/* --- calibrate/bench.c, calibrate/model.c --- */

enum sl_status sl_calibration_bench(struct sl_calibration *c);
enum sl_status sl_calibration_models_run(struct sl_calibration *c);
/* On a GPU this measures only rates: those of the link to host memory, of that memory when the CPU uses it, and of
 * NVMe. */
enum sl_status sl_calibration_offload_run(struct sl_calibration *c);
/* The steps of one model: its ops are points, and the step itself. */
enum sl_status sl_calibration_model_run(struct sl_calibration *c, const struct sl_calibration_model *m);

/* A model's job in the form in which it is run. Must be closed even if opening it failed. */
struct sl_calibration_model_job {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
  struct sl_plan plan;
  struct sl_job job;
};
/* Fills everything except the job, from a config.json and a ds_config.json. */
enum sl_status sl_calibration_plan(struct sl_calibration_model_job *in, const char *name, const char *model,
                                   const char *config, const char *cluster, int ranks);
enum sl_status sl_calibration_model_open(struct sl_calibration_model_job *in, const struct sl_calibration_model *m,
                                         const char *cluster, int ranks);
void sl_calibration_model_close(struct sl_calibration_model_job *in);

/* The ops that the benchmark would time, for the test of the exclusion; freed by sl_job_free. Compute only. */
enum sl_status sl_calibration_bench_job(struct sl_job *job, const struct sl_plan *plan,
                                        const struct sl_calibration_grid *grid, bool quick, bool tf32);
