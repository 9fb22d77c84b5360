/* What a calibration measures on a GPU: matrices that fill it as those of the acceptance models do, but have none of
 * their shapes; and the data sheet of the device, from which the fit starts. */
#include "calibrate/calibration.h"

#include "core/cluster/provenance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* As in calibrate/shapes.c. */
static const struct sl_calibration_model models[] = {
    {"gb456", 4, 456, 8, 9001, 450, 430, 1, 1, 0, false, true, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb600", 4, 600, 12, 15013, 500, 490, 8, 1, 1, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb720", 3, 720, 10, 30011, 700, 690, 4, 1, 2, true, true, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb880", 3, 880, 11, 20021, 1100, 1090, 2, 2, 3, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb1120", 2, 1120, 14, 40009, 900, 870, 6, 1, 0, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb1440", 2, 1440, 20, 50021, 1300, 1290, 4, 1, 2, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gb1680", 2, 1680, 30, 36007, 800, 790, 9, 1, 1, false, false, SL_BF16, true, 0, 0, NULL, NULL},
    {"gm656", 2, 656, 8, 15013, 600, 580, 3, 1, 0, true, false, SL_BF16, false, 0, 0, NULL, NULL},
    {"gs560", 2, 560, 10, 9007, 500, 470, 2, 1, 1, false, true, SL_F32, true, 0, 0, NULL, NULL},
    {"gs1000", 2, 1000, 20, 20011, 700, 690, 3, 1, 2, false, false, SL_F32, true, 0, 0, NULL, NULL},
    {"gs1320", 1, 1320, 12, 30011, 900, 870, 4, 2, 0, true, false, SL_F32, false, 0, 0, NULL, NULL},
    {"gt1060", 2, 1060, 20, 20011, 700, 690, 3, 1, 2, false, true, SL_TF32, true, 0, 0, NULL, NULL},
    {"gtl1512", 1, 1512, 12, 24007, 900, 870, 4, 2, 0, false, false, SL_TF32, true, 4, 4100, NULL, NULL},
    {"gh800", 2, 800, 10, 20011, 800, 790, 4, 1, 2, false, true, SL_F16, true, 0, 0, NULL, NULL},
    {"gh1190", 2, 1190, 14, 30011, 600, 590, 6, 2, 0, true, false, SL_F16, true, 0, 0, NULL, NULL},
    {"gbl912", 2, 912, 8, 12007, 700, 690, 3, 1, 1, false, true, SL_BF16, true, 2, 2400, NULL, NULL},
    {"gbl1392", 2, 1392, 12, 24007, 900, 880, 3, 1, 0, false, false, SL_BF16, true, 3, 3600, NULL, NULL},
    {"gbl1880", 2, 1880, 20, 30011, 1100, 1080, 5, 1, 3, false, false, SL_BF16, true, 5, 5100, NULL, NULL},
    {"gsl720", 2, 720, 10, 9001, 600, 590, 3, 1, 2, false, false, SL_F32, true, 5, 1900, NULL, NULL}};

static const struct sl_calibration_product products[] = {
    {130, 190, 210, true},      {430, 456, 456, false},    {690, 2160, 720, true},    {720, 690, 2160, false},
    {1090, 880, 3520, false},   {2180, 2640, 880, true},   {2760, 720, 2880, false},  {2880, 720, 2760, true},
    {3920, 1800, 600, false},   {5220, 1120, 1120, true},  {5220, 4480, 1120, false}, {4480, 1120, 5220, false},
    {5160, 1440, 5760, true},   {7110, 1680, 6720, false}, {7110, 5040, 1680, false}, {1680, 6720, 7110, true},
    {2760, 30011, 720, true},   {30011, 720, 2760, false}, {2760, 720, 30011, false}, {5160, 50021, 1440, false},
    {1440, 5160, 50021, false}, {8100, 9100, 8300, true},  {2640, 1392, 3600, false}, {5400, 5100, 1880, true},
    {3000, 12200, 12300, true}, {610, 1220, 1230, false},  {1010, 2220, 1110, false}, {16100, 1520, 1510, true}};

static const int64_t attentions[][4] = {{1, 300, 6, 56},   {2, 700, 10, 72}, {4, 900, 12, 80}, {8, 500, 8, 40},
                                        {3, 1500, 20, 72}, {1, 3000, 9, 96}, {6, 1100, 14, 56}};
static const int64_t rows[][2] = {{130, 450},   {690, 720},   {1090, 3520},  {2760, 2880},
                                  {5220, 1120}, {5220, 6720}, {7110, 12200}, {3000, 30010}};
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
