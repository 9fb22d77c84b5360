/* The data-dependent scalars of a step; see control.h. Loss scaling follows DeepSpeed's fp16/loss_scaler.py. */
#include "core/control.h"

#include <math.h>

void sl_control_init(struct sl_control *control, const struct sl_config *config) {
  *control = (struct sl_control){.last_overflow = -1, .hysteresis = config->fp16.hysteresis, .loss_scale = 1};
  if (!config->fp16.enabled) return;
  control->loss_scale =
      config->fp16.loss_scale > 0 ? config->fp16.loss_scale : ldexp(1, config->fp16.initial_scale_power);
}

static void shrink_scale(struct sl_control *c, const struct sl_config *config) {
  if (c->hysteresis <= 1) {
    c->exhausted = c->loss_scale == config->fp16.min_loss_scale;
    c->loss_scale = fmax(c->loss_scale / 2, config->fp16.min_loss_scale);
  } else {
    c->hysteresis--;
  }
  c->last_overflow = c->step;
}

static void grow_scale(struct sl_control *c, const struct sl_config *config) {
  if (config->fp16.consecutive_hysteresis) c->hysteresis = config->fp16.hysteresis;
  const int64_t good = c->step - c->last_overflow - 1;
  if (good <= 0 || good % config->fp16.loss_scale_window != 0) return;
  if (!config->fp16.consecutive_hysteresis) c->hysteresis = config->fp16.hysteresis;
  c->loss_scale *= 2;
}

void sl_control_step(struct sl_control *c, const struct sl_config *config) {
  const bool dynamic = config->fp16.enabled && config->fp16.loss_scale == 0;
  const bool checked = config->fp16.enabled || (config->bf16.enabled && config->bf16.check_grad_overflow);
  const bool overflow = checked && (c->overflow > 0 || !isfinite(c->square_sum));
  /* Every rank scales its loss by the global batch, so the reduced gradient is the mean; "sum" wants it dp times that.
   */
  const double ranks = config->gradient_allreduce_sum
                           ? (double)config->train_batch_size /
                                 (double)(config->train_micro_batch_size_per_gpu * config->gradient_accumulation_steps)
                           : 1;
  c->loss = c->loss_sum;
  c->grad_norm = sqrt(c->square_sum) * ranks / c->loss_scale;
  if (overflow) {
    c->grad_factor = -1;
    c->skipped++;
  } else {
    const double clip = config->gradient_clipping;
    c->grad_factor = ranks / c->loss_scale;
    if (clip > 0 && c->grad_norm > clip) c->grad_factor *= clip / (c->grad_norm + 1e-6);
    /* the schedule counts updates: DeepSpeed does not step it on an overflow */
    c->lr = sl_config_lr(config, c->good_steps);
    c->good_steps++;
  }
  if (dynamic && overflow) shrink_scale(c, config);
  if (dynamic && !overflow) grow_scale(c, config);
  c->step++;
  for (int i = 0; i < SL_CONTROL_REDUCED; i++) c->reduced[i] = 0;
}
