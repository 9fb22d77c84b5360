/* Compares what ranks and nodes need with what a cluster has; see fits.h. */
#include "core/run/fits.h"

#include "core/base/checked.h"

/* Ranks per node; a cluster with a given number of nodes may have more ranks than devices. */
static int64_t ranks_of_a_node(const struct sl_plan *plan) {
  const int64_t nodes = plan->cluster->nodes, devices = plan->cluster->devices_per_node;
  return nodes > 0 && plan->world > sl_product(nodes, devices) ? (plan->world + nodes - 1) / nodes : devices;
}

/* What a rank uses of its node's host memory, or of its NVMe. */
static int64_t of_node(const struct sl_job *job, const struct sl_class *c, enum sl_space space) {
  const struct sl_device *device = &job->plan->cluster->device;
  int64_t bytes = c->arena_bytes[space];
  if (space == SL_SPACE_HOST && device->kind == SL_DEVICE_CPU)
    bytes += c->arena_bytes[SL_SPACE_DEVICE] + device->context_bytes;
  return bytes;
}

static void fit_node(struct sl_space_fit *fit, const struct sl_job *job, enum sl_space space) {
  const int64_t per_node = ranks_of_a_node(job->plan);
  struct sl_coord at = {0};
  int64_t sum = 0, ranks = 0; /* of the node so far */
  for (int rank = 0; rank < job->plan->world; rank++, sl_plan_next(job->plan, &at)) {
    sum += of_node(job, &job->classes[sl_job_class_at(job, at)], space);
    if (++ranks < per_node && rank + 1 < job->plan->world) continue;
    if (sum > fit->need_bytes) {
      fit->need_bytes = sum;
      fit->at = (int)(rank / per_node);
    }
    sum = ranks = 0;
  }
}

static void fit_device(struct sl_fits *out, const struct sl_exec_report *report, int rank) {
  struct sl_space_fit *fit = &out->space[SL_SPACE_DEVICE];
  const int64_t arena = report->arena_bytes[SL_SPACE_DEVICE], need = arena + report->context_bytes;
  if (need <= fit->need_bytes) return;
  *fit = (struct sl_space_fit){need, fit->limit_bytes, rank};
  out->arena_bytes = arena;
  out->context_bytes = report->driver_bytes;
  out->reserve_bytes = report->context_bytes - report->driver_bytes;
}

/* device_memory_GiB limits only the arena; the tighter of the two limits counts. */
static void limit_device(struct sl_fits *out, const struct sl_device *device) {
  struct sl_space_fit *fit = &out->space[SL_SPACE_DEVICE];
  const int64_t beside = out->context_bytes + out->reserve_bytes;
  if (device->kind == SL_DEVICE_GPU) fit->limit_bytes = device->memory;
  if (device->device_memory == 0) return;
  if (fit->limit_bytes == 0 || device->device_memory + beside < fit->limit_bytes)
    fit->limit_bytes = device->device_memory + beside;
}

void sl_fits_of(struct sl_fits *out, const struct sl_job *job, const struct sl_exec_report *reports, const int *ranks,
                int count) {
  const struct sl_cluster *cluster = job->plan->cluster;
  *out = (struct sl_fits){.fits = true};
  for (int i = 0; i < count; i++) fit_device(out, &reports[i], ranks[i]);
  limit_device(out, &cluster->device);
  out->space[SL_SPACE_HOST].limit_bytes =
      cluster->device.kind == SL_DEVICE_CPU ? cluster->device.memory : cluster->host_memory;
  out->space[SL_SPACE_NVME].limit_bytes = cluster->nvme;
  fit_node(&out->space[SL_SPACE_HOST], job, SL_SPACE_HOST);
  fit_node(&out->space[SL_SPACE_NVME], job, SL_SPACE_NVME);
  for (int s = 0; s < SL_SPACE_COUNT; s++) out->fits = out->fits && sl_fits_over(&out->space[s]) == 0;
}
