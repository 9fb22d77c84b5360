/* Steps of small models with offload: the cost of copies and updates between a device arena and a host arena, and the
 * duration of copies to and from NVMe by their size, block size and queue depth. */
#include "calibrate/calibration.h"

#include <stdio.h>
#include <stdlib.h>

#define OPTIMIZER ",\"offload_optimizer\":{\"device\":\"cpu\"}"
#define PARAM ",\"offload_param\":{\"device\":\"cpu\"}"

/* Widths are odd, as in calibrate/shapes.c. */
static const struct sl_calibration_model models[] = {{.name = "so126",
                                                      .layers = 3,
                                                      .width = 126,
                                                      .heads = 6,
                                                      .vocab = 317,
                                                      .positions = 150,
                                                      .seq = 145,
                                                      .micro = 4,
                                                      .accumulation = 1,
                                                      .stage = 1,
                                                      .quick = true,
                                                      .zero = OPTIMIZER},
                                                     {.name = "so234",
                                                      .layers = 3,
                                                      .width = 234,
                                                      .heads = 6,
                                                      .vocab = 1201,
                                                      .positions = 150,
                                                      .seq = 135,
                                                      .micro = 3,
                                                      .accumulation = 2,
                                                      .stage = 2,
                                                      .zero = OPTIMIZER},
                                                     {.name = "so396",
                                                      .layers = 2,
                                                      .width = 396,
                                                      .heads = 9,
                                                      .vocab = 5003,
                                                      .positions = 170,
                                                      .seq = 165,
                                                      .micro = 2,
                                                      .accumulation = 1,
                                                      .stage = 3,
                                                      .quick = true,
                                                      .zero = OPTIMIZER PARAM},
                                                     {.name = "bo210",
                                                      .layers = 3,
                                                      .width = 210,
                                                      .heads = 5,
                                                      .vocab = 701,
                                                      .positions = 190,
                                                      .seq = 180,
                                                      .micro = 3,
                                                      .accumulation = 1,
                                                      .stage = 3,
                                                      .dtype = SL_BF16,
                                                      .quick = true,
                                                      .zero = OPTIMIZER PARAM},
                                                     {.name = "ho348",
                                                      .layers = 2,
                                                      .width = 348,
                                                      .heads = 6,
                                                      .vocab = 2503,
                                                      .positions = 150,
                                                      .seq = 150,
                                                      .micro = 2,
                                                      .accumulation = 1,
                                                      .stage = 2,
                                                      .dtype = SL_F16,
                                                      .zero = OPTIMIZER}};

/* For a GPU: copies long enough for a link of tens of GB/s, and updates of millions of parameters. */
static const struct sl_calibration_model gpu_models[] = {{.name = "go720",
                                                          .layers = 2,
                                                          .width = 720,
                                                          .heads = 10,
                                                          .vocab = 9001,
                                                          .positions = 300,
                                                          .seq = 290,
                                                          .micro = 2,
                                                          .accumulation = 1,
                                                          .stage = 2,
                                                          .quick = true,
                                                          .zero = OPTIMIZER},
                                                         {.name = "gbo1440",
                                                          .layers = 3,
                                                          .width = 1440,
                                                          .heads = 20,
                                                          .vocab = 30011,
                                                          .positions = 300,
                                                          .seq = 290,
                                                          .micro = 2,
                                                          .accumulation = 1,
                                                          .stage = 3,
                                                          .dtype = SL_BF16,
                                                          .zero = OPTIMIZER PARAM}};

/* For copies to and from NVMe: block sizes from a few pages to the default, queue depths from one block to more than
 * there are. */
static const struct {
  const char *name;
  int width, vocab, sub_group;
  long block;
  int depth;
  bool quick;
} disks[] = {{"n104", 104, 290, 30000, 16384, 1, true},       {"n156", 156, 1103, 200000, 65536, 4, false},
             {"n216", 216, 2011, 500000, 262144, 2, true},    {"n300", 300, 3001, 1500000, 1048576, 8, true},
             {"n276", 276, 5003, 4000000, 1048576, 1, false}, {"n180", 180, 1501, 100000, 131072, 16, false},
             {"n324", 324, 7001, 3000000, 524288, 32, false}};

/* Keeps only copies and the CPU's updates: other ops of these steps take turns with them, so their times are not
 * representative. */
static void keep_rated(struct sl_points *points, size_t first) {
  size_t kept = first;
  for (size_t i = first; i < points->count; i++)
    if (sl_variant_is_rated(points->items[i].variant)) points->items[kept++] = points->items[i];
  points->count = kept;
}

static enum sl_status run_rated(struct sl_calibration *c, const struct sl_calibration_model *m) {
  struct sl_calibration_model_job in;
  const size_t first = c->points.count;
  enum sl_status status;
  SL_GO(sl_calibration_model_open(&in, m, c->grid->cluster, c->ranks));
  SL_GO(sl_calibration_run(c, &in.job, 3, m->name, false, NULL));
  keep_rated(&c->points, first);
done:
  sl_calibration_model_close(&in);
  return status;
}

static enum sl_status run_disks(struct sl_calibration *c) {
  json_t *folder = json_string(c->nvme); /* as a JSON string, whatever characters it contains */
  char zero[5200], more[96], *path = json_dumps(folder, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
  enum sl_status status = path != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: %s", c->nvme);
  for (size_t i = 0; i < SL_LENGTH(disks) && status == SL_OK; i++) {
    if (c->quick && !disks[i].quick) continue;
    const int used = snprintf(zero, sizeof zero,
                              ",\"sub_group_size\":%d,\"offload_optimizer\":{\"device\":\"nvme\",\"nvme_path\":%s},"
                              "\"offload_param\":{\"device\":\"nvme\",\"nvme_path\":%s,\"max_in_cpu\":0}",
                              disks[i].sub_group, path, path);
    if (used >= (int)sizeof zero) status = sl_fail(SL_ERR_INPUT, "%s: expected a shorter path", c->nvme);
    snprintf(more, sizeof more, "\"aio\":{\"block_size\":%ld,\"queue_depth\":%d},", disks[i].block, disks[i].depth);
    const struct sl_calibration_model model = {.name = disks[i].name,
                                               .layers = 2,
                                               .width = disks[i].width,
                                               .heads = 4,
                                               .vocab = disks[i].vocab,
                                               .positions = 50,
                                               .seq = 45,
                                               .micro = 1,
                                               .accumulation = 1,
                                               .stage = 3,
                                               .zero = zero,
                                               .more = more};
    if (status == SL_OK) status = run_rated(c, &model);
  }
  free(path);
  json_decref(folder);
  return status;
}

enum sl_status sl_calibration_offload_run(struct sl_calibration *c) {
  for (size_t i = 0; i < SL_LENGTH(models) && !c->gpu; i++)
    if (!c->quick || models[i].quick) SL_TRY(sl_calibration_model_run(c, &models[i]));
  for (size_t i = 0; i < SL_LENGTH(gpu_models) && c->gpu; i++)
    if (!c->quick || gpu_models[i].quick) SL_TRY(run_rated(c, &gpu_models[i]));
  return c->nvme != NULL ? run_disks(c) : SL_OK;
}
