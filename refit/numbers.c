/* The table of fitted numbers; see numbers.h.
 *
 * Priors. Products: the best of stas00/ml-engineering's table (271 of 312 TFLOPS on an A100, 795 of 989 on an H100),
 * less what a typical shape loses. Attention: the ranges of arXiv:2307.08691 (section 1, figures 5 and 7) and
 * arXiv:2407.08608. Memory: the share of the data sheet's bandwidth that a copy reaches. The others are guesses, with
 * wide standard deviations to match. */
#include "refit/numbers.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE(field) SL_REFIT_DEVICE, SL_REFIT_IN_CLUSTER, offsetof(struct sl_cluster, device.field)
#define FLASH(kernel, backward)                                                                                        \
  SL_REFIT_DEVICE, SL_REFIT_IN_CLUSTER,                                                                                \
      offsetof(struct sl_cluster, device.flash_efficiency) + (2 * (kernel) + (backward)) * sizeof(double)
#define LINK(place, field) SL_REFIT_CLUSTER, place, offsetof(struct sl_link, field)
#define CLUSTER(field) SL_REFIT_CLUSTER, SL_REFIT_IN_CLUSTER, offsetof(struct sl_cluster, field)
#define KERNELS(field) SL_REFIT_KERNELS, SL_REFIT_IN_KERNELS, offsetof(struct sl_kernel_costs, field)
#define BOTH(...)                                                                                                      \
  {                                                                                                                    \
    {__VA_ARGS__}, {                                                                                                   \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }

const struct sl_refit_key sl_refit_keys[] = {
    /* key, place, unit, {prior, sd of its logarithm, low, high} below compute capability 9, and from 9 on */
    {"gemm_efficiency", DEVICE(gemm_efficiency), 1, {{0.85, 0.1, 0.5, 0.98}, {0.68, 0.08, 0.5, 0.9}}},
    {"batched_gemm_efficiency", DEVICE(batched_gemm_efficiency), 1, BOTH(0.55, 0.3, 0.15, 0.95)},
    {"elementwise_efficiency", DEVICE(elementwise_efficiency), 1, BOTH(0.8, 0.06, 0.6, 0.92)},
    {"flash1_forward_efficiency", FLASH(SL_FLASH_1, 0), 1, {{0.4, 0.3, 0.1, 0.7}, {0.2, 0.25, 0.08, 0.5}}},
    {"flash1_backward_efficiency", FLASH(SL_FLASH_1, 1), 1, {{0.3, 0.3, 0.1, 0.7}, {0.16, 0.25, 0.06, 0.4}}},
    {"flash2_forward_efficiency", FLASH(SL_FLASH_2, 0), 1, {{0.55, 0.15, 0.2, 0.75}, {0.38, 0.1, 0.2, 0.5}}},
    {"flash2_backward_efficiency", FLASH(SL_FLASH_2, 1), 1, {{0.45, 0.15, 0.15, 0.7}, {0.31, 0.1, 0.15, 0.45}}},
    {"flash_half_tokens", DEVICE(flash_half_tokens), 1, BOTH(256, 0.5, 20, 4000)},
    {"launch_us", DEVICE(launch_latency), 1e-6, BOTH(3, 0.4, 0.5, 10)},
    {"bandwidth_share", LINK(SL_REFIT_IN_NEAR_LINK, bandwidth_share), 1, BOTH(0.67, 0.3, 0.15, 1.2)},
    {"bandwidth_share", LINK(SL_REFIT_IN_FAR_LINK, bandwidth_share), 1, BOTH(0.6, 0.4, 0.05, 1)},
    {"bandwidth_decay", LINK(SL_REFIT_IN_FAR_LINK, bandwidth_decay), 1, BOTH(0.4, 0.4, 0.01, 1)},
    {"pipeline_stall_us", CLUSTER(pipeline_stall), 1e-6, BOTH(5, 2, 0.2, 3000)},
    {"host_launch_us", KERNELS(host_launch), 1e-6, BOTH(10, 1, 1, 300)},
    {"host_collective_us", KERNELS(host_collective), 1e-6, BOTH(60, 0.7, 1, 2000)},
    {"elementwise_factor", KERNELS(elementwise_factor), 1, BOTH(1, 0.2, 0.4, 2.5)},
    {"comm_compute_share", KERNELS(comm_compute_share), 1, BOTH(0.5, 0.5, 0.01, 0.99)},
    {.key = NULL}};

static double *place_of(const struct sl_refit_key *key, const struct sl_refit_subject *s) {
  struct sl_cluster *c = s->cluster;
  char *const in[] = {[SL_REFIT_IN_CLUSTER] = (char *)c,
                      [SL_REFIT_IN_NEAR_LINK] = (char *)&c->link[0],
                      [SL_REFIT_IN_FAR_LINK] = (char *)&c->link[c->n_link - 1],
                      [SL_REFIT_IN_KERNELS] = (char *)s->kernel_costs};
  return (double *)(void *)(in[key->place] + key->offset);
}

void sl_refit_put(const struct sl_refit_number *number, const struct sl_refit_subject *subject, double value) {
  *place_of(number->key, subject) = value * number->key->unit;
}

double sl_refit_get(const struct sl_refit_number *number, const struct sl_refit_subject *subject) {
  return *place_of(number->key, subject) / number->key->unit;
}

void sl_refit_device_owner(const struct sl_device *device, char *out, size_t size) {
  snprintf(out, size, "sm%.0fx%d", 10 * device->compute_capability, device->sm_count);
}

static void put_owner(const struct sl_refit_key *key, const struct sl_refit_subject *s, char *out, size_t size) {
  switch (key->scope) {
  case SL_REFIT_DEVICE:
    sl_refit_device_owner(&s->cluster->device, out, size);
    break;
  case SL_REFIT_CLUSTER:
    snprintf(out, size, "%s", s->cluster->name);
    break;
  default:
    snprintf(out, size, "%s", s->kernels);
  }
}

/* Whether the cluster has the part that the number describes. A single link counts as the innermost one. */
static bool has(const struct sl_refit_key *key, const struct sl_refit_subject *s) {
  const struct sl_device *d = &s->cluster->device;
  const bool gpu = d->kind == SL_DEVICE_GPU && d->sm_count > 0;
  if (key->place == SL_REFIT_IN_NEAR_LINK) return gpu && s->cluster->n_link > 0;
  if (key->place == SL_REFIT_IN_FAR_LINK) return gpu && s->cluster->n_link > 1;
  return gpu;
}

static enum sl_status add(struct sl_refit_numbers *numbers, const struct sl_refit_key *key,
                          const struct sl_refit_subject *s, size_t *place) {
  struct sl_refit_number new = {.key = key};
  put_owner(key, s, new.owner, sizeof new.owner);
  for (size_t i = 0; i < numbers->count; i++) {
    *place = i;
    if (numbers->items[i].key == key && strcmp(numbers->items[i].owner, new.owner) == 0) return SL_OK;
  }
  SL_TRY(sl_grow(&numbers->items, &numbers->capacity, numbers->count + 1, sizeof new));
  new.prior = key->priors[s->cluster->device.compute_capability >= 9];
  *place = numbers->count;
  numbers->items[numbers->count++] = new;
  return SL_OK;
}

enum sl_status sl_refit_numbers_add(struct sl_refit_numbers *numbers, const struct sl_refit_subject *subject,
                                    struct sl_refit_reach *reach) {
  *reach = (struct sl_refit_reach){.count = 0};
  for (const struct sl_refit_key *key = sl_refit_keys; key->key != NULL; key++) {
    if (!has(key, subject)) continue;
    SL_TRY(add(numbers, key, subject, &reach->number[reach->count]));
    reach->count++;
  }
  return SL_OK;
}

static bool is_called(const struct sl_refit_number *number, const char *name) {
  const size_t owner = strlen(number->owner);
  return strncmp(name, number->owner, owner) == 0 && name[owner] == ':' &&
         strcmp(name + owner + 1, number->key->key) == 0;
}

static bool any_is_called(const struct sl_refit_numbers *numbers, const char *name) {
  for (size_t j = 0; j < numbers->count; j++)
    if (is_called(&numbers->items[j], name)) return true;
  return false;
}

static const double hair = 1e-6;

bool sl_refit_is_pinned(const struct sl_refit_prior *prior) {
  return prior->sd == hair;
}

enum sl_status sl_refit_numbers_pin(const struct sl_refit_numbers *numbers, char *const *names, int count,
                                    const double *values, struct sl_refit_prior *priors) {
  for (int i = 0; i < count; i++)
    if (!any_is_called(numbers, names[i]))
      return sl_fail(SL_ERR_INPUT, "no run depends on a number \"%s\"; expected OWNER:KEY, as sm90x132:gemm_efficiency",
                     names[i]);
  for (size_t j = 0; j < numbers->count; j++) {
    int i = 0;
    while (i < count && !is_called(&numbers->items[j], names[i])) i++;
    if (i == count)
      priors[j] = (struct sl_refit_prior){values[j], hair, values[j] * (1 - hair), values[j] * (1 + hair)};
  }
  return SL_OK;
}

void sl_refit_numbers_free(struct sl_refit_numbers *numbers) {
  free(numbers->items);
  *numbers = (struct sl_refit_numbers){0};
}
