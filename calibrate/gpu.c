/* What a calibration measures on a GPU: matrices that fill it as those of the acceptance models do, but have none of
 * their shapes; and the data sheet of the device, from which the fit starts. Most widths are multiples of 64 and most
 * heads have 64 or 128 numbers, as in real models: kernels of other sizes are different kernels, several times as slow
 * where rows are no multiple of 16 bytes, and a few shapes of that kind say how slow. */
#include "calibrate/calibration.h"

#include "core/cluster/provenance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* As in calibrate/shapes.c. */
static const struct sl_calibration_model models[] = {
    {"gb704", 4, 704, 11, 9001, 640, 640, 3, 1, 0, true, true, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb640", 4, 640, 10, 15013, 576, 576, 8, 1, 1, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb896", 3, 896, 14, 30011, 896, 896, 6, 1, 2, true, true, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb1088", 3, 1088, 17, 50021, 1152, 1152, 4, 2, 3, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb1472", 2, 1472, 23, 40009, 960, 960, 8, 1, 0, true, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb1440", 2, 1440, 20, 50021, 1300, 1290, 4, 1, 2, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb1664", 2, 1664, 13, 36007, 1088, 1088, 4, 1, 1, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb1792", 2, 1792, 28, 50021, 1216, 1216, 6, 1, 2, true, true, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb1920", 2, 1920, 30, 30011, 704, 704, 2, 1, 1, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gm832", 2, 832, 13, 15013, 576, 576, 3, 1, 0, true, false, SL_BF16, false, 0, 0, NULL, NULL},
    {"gs560", 2, 560, 10, 9007, 500, 470, 2, 1, 1, false, true, SL_F32, true, 0, 0, NULL, NULL},
    {"gs1000", 2, 1000, 20, 20011, 700, 690, 3, 1, 2, false, false, SL_F32, true, 0, 0, NULL, NULL},
    {"gs1320", 1, 1320, 12, 30011, 900, 870, 4, 2, 0, true, false, SL_F32, false, 0, 0, NULL, NULL},
    {"gt1088", 2, 1088, 17, 20011, 704, 704, 3, 1, 2, false, true, SL_TF32, true, 0, 0, NULL, NULL},
    {"gtl1792", 1, 1792, 14, 24007, 896, 896, 4, 2, 0, false, false, SL_TF32, true, 7, 4736, NULL, NULL},
    {"gh832", 2, 832, 13, 20011, 832, 832, 4, 1, 2, false, true, SL_F16, true, 0, 0, NULL, NULL},
    {"gh1216", 2, 1216, 19, 30011, 576, 576, 6, 2, 0, true, false, SL_F16, true, 0, 0, NULL, NULL},
    {"gbl896", 3, 896, 14, 12007, 640, 640, 2, 1, 1, false, true, SL_BF16, true, 2, 2432, NULL, NULL},
    {"gbl1408", 2, 1408, 22, 24007, 896, 896, 5, 1, 0, false, false, SL_BF16, true, 2, 3776, NULL, NULL},
    {"gbl1792", 2, 1792, 28, 30011, 1152, 1152, 8, 1, 3, false, false, SL_BF16, true, 4, 4864, NULL, NULL},
    {"gbl2688", 2, 2688, 21, 30011, 1536, 1536, 2, 1, 2, false, true, SL_BF16, true, 7, 7168, NULL, NULL},
    {"gb1344", 1, 1344, 21, 12007, 4096, 4096, 2, 1, 0, true, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gbl1728", 1, 1728, 27, 12007, 7168, 7168, 1, 1, 1, false, false, SL_BF16, true, 3, 4608, NULL, NULL},
    {"gbl2560", 1, 2560, 20, 12007, 5120, 5120, 2, 1, 0, false, false, SL_BF16, true, 5, 6912, NULL, NULL},
    {"gsl720", 2, 720, 10, 9001, 600, 590, 3, 1, 2, false, false, SL_F32, true, 5, 1900, NULL, NULL}};

static const struct sl_calibration_product products[] = {
    {192, 320, 192, true},      {448, 576, 448, false},    {704, 2112, 704, true},    {704, 704, 2112, false},
    {1152, 896, 3584, false},   {2176, 2688, 896, true},   {2816, 704, 2816, false},  {896, 3584, 4480, true},
    {3968, 1920, 640, false},   {5248, 1088, 1088, true},  {5248, 4352, 1088, false}, {1088, 4352, 7296, false},
    {5120, 1408, 5632, true},   {7296, 1792, 7168, false}, {7296, 5376, 1792, false}, {1792, 7168, 6144, true},
    {2816, 30080, 704, true},   {30080, 704, 2816, false}, {2816, 704, 30080, false}, {5120, 50048, 1408, false},
    {1408, 50048, 5120, false}, {9216, 9088, 8320, true},  {690, 2190, 730, true},    {2760, 30011, 720, true},
    {720, 2763, 2160, false},   {3001, 1190, 4762, false}, {1010, 2222, 1111, true},  {16100, 1520, 1510, false}};

static const int64_t attentions[][4] = {{1, 320, 6, 64},   {2, 704, 10, 64},   {4, 896, 12, 64},   {8, 576, 8, 64},
                                        {3, 1536, 20, 64}, {1, 3072, 9, 128},  {6, 1152, 14, 128}, {2, 2048, 16, 64},
                                        {4, 900, 12, 80},  {1, 4096, 12, 128}, {2, 700, 10, 50}};
static const int64_t rows[][2] = {{128, 448},   {704, 704},   {1152, 3520},  {2816, 2816},  {5248, 1088},
                                  {5248, 6784}, {7296, 1792}, {7296, 12160}, {3008, 30080}, {690, 730}};
static const int64_t lengths[] = {3000, 70000, 900000, 5100000, 21000000, 90000000};

const struct sl_calibration_grid sl_calibration_gpu = {
    .cluster = "dgx-h200", SL_CALIBRATION_TABLES, .window_bytes = (int64_t)1 << 30, .types = 3};

enum sl_status sl_calibration_gpu_cluster(struct sl_cluster *cluster, const struct sl_exec_devices *devices) {
  static const char *const presets[][2] = {{"H200", "dgx-h200"},
                                           {"H100", "dgx-h100"},
                                           {"A100-SXM4-40GB", "dgx-a100-40g"},
                                           {"A100", "dgx-a100-80g"},
                                           {"V100", "dgx2-v100"}};
  const char *preset = NULL;
  for (size_t i = SL_LENGTH(presets); i-- > 0;)
    if (strstr(devices->name, presets[i][0]) != NULL) preset = presets[i][1];
  SL_TRY(sl_cluster_load(cluster, preset != NULL ? preset : "dgx-h100"));
  if (preset == NULL) /* everything that matters is measured */
    sl_annotation_set_all(cluster->annotations, "guess: that of dgx-h100, since no preset knows this device");
  snprintf(cluster->name, sizeof cluster->name, "calibrated");
  snprintf(cluster->device.name, sizeof cluster->device.name, "%s", devices->name);
  cluster->nodes = 1;
  cluster->devices_per_node = devices->count;
  cluster->device.memory = devices->memory_bytes;
  cluster->device.cache_bytes = devices->cache_bytes;
  cluster->device.cache_bandwidth = cluster->device.memory_bandwidth; /* the fit puts what was measured here */
  sl_annotation_set(cluster->annotations, "device.memory_GiB", "read from the device", NAN);
  sl_annotation_set(cluster->annotations, "device.cache_MiB", "read from the device: level 2 cache", NAN);
  sl_annotation_set(cluster->annotations, "device.cache_bandwidth_GBps", "guess: that of memory", NAN);
  return SL_OK;
}
