/* Learning rate and momentum by step: the formulas of DeepSpeed's lr_schedules.py as config.h states them. They are
 * implemented in config/loss_scale.h, because a GPU runs them too. */
#include "core/config/config.h"

double sl_config_lr(const struct sl_config *config, int64_t step) {
  return sl_lr_at(&config->scheduler, config->optimizer.lr, step);
}

void sl_config_betas(const struct sl_config *config, int64_t step, double *beta1, double *beta2) {
  *beta1 = config->optimizer.beta1;
  *beta2 = config->optimizer.beta2;
  if (!sl_lr_cycles_betas(&config->scheduler) || config->optimizer.type == SL_OPT_SGD) return;
  *beta1 = sl_lr_beta1(&config->scheduler, step);
  *beta2 = 0.99;
}
