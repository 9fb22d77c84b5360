/* The data-dependent scalars of a step; see program/step_state.h. The arithmetic is in config/loss_scale.h, because a
 * GPU runs it too. */
#include "core/program/step_state.h"

#include "core/base/checked.h"

#include <math.h>

/* torch.autocast to fp16 comes with torch.amp.GradScaler (torch/amp/grad_scaler.py of 2.6): a first scale of 2^16,
 * which an overflow halves at once and 2000 good steps double; nothing stops it from below. By the rule of
 * loss_scale.h, which is DeepSpeed's, it doubles a step later than by torch's. */
enum { SCALER_POWER = 16, SCALER_WINDOW = 2000 };
static const double SCALER_LEAST = 0x1p-1000;

static bool has_grad_scaler(const struct sl_config *config) {
  return config->autocast_dtype == SL_F16;
}

void sl_step_state_init(struct sl_step_state *state, const struct sl_config *config) {
  *state = (struct sl_step_state){.last_overflow = -1, .hysteresis = config->fp16.hysteresis, .loss_scale = 1};
  if (has_grad_scaler(config)) state->hysteresis = 1, state->loss_scale = ldexp(1, SCALER_POWER);
  if (!config->fp16.enabled) return;
  state->loss_scale =
      config->fp16.loss_scale > 0 ? config->fp16.loss_scale : ldexp(1, config->fp16.initial_scale_power);
}

struct sl_step_rules sl_step_state_rules(const struct sl_config *config) {
  struct sl_step_rules rules = {
      .scheduler = config->scheduler,
      .lr = config->optimizer.lr,
      .beta1 = config->optimizer.beta1,
      .cycles_betas = sl_lr_cycles_betas(&config->scheduler) && config->optimizer.type != SL_OPT_SGD,
      .checked = config->fp16.enabled || (config->bf16.enabled && config->bf16.check_grad_overflow),
      .dynamic = config->fp16.enabled && config->fp16.loss_scale == 0,
      .consecutive_hysteresis = config->fp16.consecutive_hysteresis,
      .hysteresis = config->fp16.hysteresis,
      .loss_scale_window = config->fp16.loss_scale_window,
      .min_loss_scale = config->fp16.min_loss_scale,
      .ranks = 1,
      .clip = config->gradient_clipping,
  };
  if (has_grad_scaler(config)) {
    rules.checked = rules.dynamic = true;
    rules.consecutive_hysteresis = false;
    rules.hysteresis = 1;
    rules.loss_scale_window = SCALER_WINDOW;
    rules.min_loss_scale = SCALER_LEAST;
  }
  /* Every rank scales its loss by the global batch, so the reduced gradient is the mean; with "sum" it shall be dp
   * times that. */
  if (config->gradient_allreduce_sum)
    rules.ranks = (double)config->train_batch_size /
                  (double)sl_product(config->train_micro_batch_size_per_gpu, config->gradient_accumulation_steps);
  return rules;
}

void sl_step_state_advance(struct sl_step_state *state, const struct sl_config *config) {
  const struct sl_step_rules rules = sl_step_state_rules(config);
  sl_loss_scale_step(state, &rules);
}
