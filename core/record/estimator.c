/* Closed forms published by others; see estimator.h. */
#include "core/record/estimator.h"

#include "core/base/checked.h"

#include <math.h>
#include <string.h>

static struct sl_estimate stage2(const struct sl_estimator *ask) {
  const double p = ask->params, n = (double)sl_product(ask->nodes, ask->devices_per_node);
  if (ask->offload_optimizer) return (struct sl_estimate){2 * p, p * fmax(4 * n, 16) * 1.5};
  const double device = ask->before_5099 ? 4 * p + floor(16 * p / n) : 2 * p + floor(18 * p / n);
  return (struct sl_estimate){device, p * 4 * (double)ask->devices_per_node * 1.5};
}

static struct sl_estimate stage3(const struct sl_estimator *ask) {
  const double p = ask->params, n = (double)sl_product(ask->nodes, ask->devices_per_node);
  const double replicas = 4.0 * (double)ask->devices_per_node, per_node = 1.0 / (double)ask->nodes;
  if (ask->offload_param) {
    const double factor = ask->zero_init ? 18 * per_node : fmax(replicas, 18 * per_node);
    return (struct sl_estimate){4 * ask->largest, p * factor * 1.5};
  }
  if (ask->offload_optimizer) {
    const double factor = ask->zero_init ? 16 * per_node : fmax(replicas, 16 * per_node);
    return (struct sl_estimate){4 * ask->largest + floor(2 * p / n), p * factor * 1.5};
  }
  const double created = ask->zero_init ? ask->largest : p;
  return (struct sl_estimate){4 * ask->largest + floor(18 * p / n), created * replicas * 1.5};
}

struct sl_estimate sl_estimator_deepspeed(const struct sl_estimator *ask) {
  struct sl_estimate e = ask->stage == 3 ? stage3(ask) : stage2(ask);
  e.device_bytes = floor(e.device_bytes);
  e.host_bytes = floor(e.host_bytes);
  return e;
}

/* Length of a tensor's module name: all before the last dot. */
static size_t module_length(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot == NULL ? strlen(name) : (size_t)(dot - name);
}

int64_t sl_estimator_largest_layer(const struct sl_model *model) {
  int64_t largest = 0, sum = 0;
  for (int i = 0; i < model->tensor_count; i++) {
    const char *name = model->tensors[i].name, *last = i > 0 ? model->tensors[i - 1].name : "";
    const size_t length = module_length(name);
    const bool same = i > 0 && module_length(last) == length && strncmp(name, last, length) == 0;
    sum = (same ? sum : 0) + model->tensors[i].numel;
    if (sum > largest) largest = sum;
  }
  return largest;
}
