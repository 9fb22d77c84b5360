/* Learning rate and momentum by step: the formulas of DeepSpeed's lr_schedules.py as config.h states them. */
#include "core/config.h"

#include <math.h>

/* Rise from 0 to 1 over the warm-up; `i` = last_batch_iteration, 0 <= i < w. */
static double warmup_gamma(const struct sl_config *config, double i, double w) {
  return config->scheduler.warmup_log ? log(i + 1) / log(w) : i / w;
}

/* DeepSpeed keeps log(w) off zero. */
static double warmup_steps(const struct sl_config *config) {
  return fmax(2, (double)config->scheduler.warmup_num_steps);
}

static double warmup_lr(const struct sl_config *config, double i, bool decay) {
  const double w = warmup_steps(config), low = config->scheduler.warmup_min_lr, high = config->scheduler.warmup_max_lr;
  const double total = (double)config->scheduler.total_num_steps;
  if (i < 0) return low;
  double gamma = 1;
  if (i < w) {
    gamma = warmup_gamma(config, i, w);
  } else if (decay) {
    gamma = fmax(0, (total - i) / fmax(1, total - w));
  }
  return low + (high - low) * gamma;
}

static double cosine_lr(const struct sl_config *config, double i) {
  const double w = warmup_steps(config), total = (double)config->scheduler.total_num_steps;
  const double low = config->scheduler.warmup_min_ratio, end = config->scheduler.cos_min_ratio;
  if (i < 0) return 0;
  if (i < w) return config->optimizer.lr * (low + (1 - low) * warmup_gamma(config, i, w));
  const double progress = fmin(1, (i - w + 1) / fmax(1, total - w));
  return config->optimizer.lr * fmax(0, end + (1 - end) * (1 + cos(acos(-1) * progress)) / 2);
}

static double range_test_lr(const struct sl_config *config, double i) {
  if (i < 0) return config->scheduler.range_min_lr;
  double interval = i / (double)config->scheduler.range_step_size;
  if (config->scheduler.range_staircase) interval = floor(interval);
  return config->scheduler.range_min_lr * (1 + config->scheduler.range_step_rate * interval);
}

static double cycle_size(const struct sl_config *config) {
  return (double)config->scheduler.cycle_first_step_size + (double)config->scheduler.cycle_second_step_size;
}

/* 0 at the ends of the cycle, 1 at its peak. Stairs are cut from the whole step number, not from the ratio, so that the
 * peak is met exactly. */
static double cycle_scale(const struct sl_config *config, double step) {
  const double first = (double)config->scheduler.cycle_first_step_size, size = cycle_size(config);
  const double second = (double)config->scheduler.cycle_second_step_size;
  const double ratio = first / size, x = 1 + step / size - floor(1 + step / size);
  const bool rising = x <= ratio;
  const double stairs =
      (double)(rising ? config->scheduler.cycle_first_stair_count : config->scheduler.cycle_second_stair_count);
  if (stairs == 0) return rising ? x / ratio : (x - 1) / (ratio - 1);
  const double within = fmod(step, size);
  const double position = within <= first ? within * stairs / first : (size - within) * stairs / second;
  return floor(position) / stairs;
}

static double one_cycle_lr(const struct sl_config *config, double step) {
  const double low = config->scheduler.cycle_min_lr, high = config->scheduler.cycle_max_lr;
  const double after = step - cycle_size(config);
  if (step < 1) return low;
  if (after <= 0) return low + (high - low) * cycle_scale(config, step);
  if (config->scheduler.decay_step_size == 0 || config->scheduler.decay_lr_rate == 0) return low;
  return low / (1 + config->scheduler.decay_lr_rate * after / (double)config->scheduler.decay_step_size);
}

double sl_config_lr(const struct sl_config *config, int64_t step) {
  const double s = step > 0 ? (double)step : 0;
  switch (config->scheduler.type) {
  case SL_LR_CONSTANT:
    break;
  case SL_LR_WARMUP:
    return warmup_lr(config, s - 1, false);
  case SL_LR_WARMUP_DECAY:
    return warmup_lr(config, s - 1, true);
  case SL_LR_WARMUP_COSINE:
    return cosine_lr(config, s - 1);
  case SL_LR_ONE_CYCLE:
    return one_cycle_lr(config, s);
  case SL_LR_RANGE_TEST:
    return range_test_lr(config, s - 1);
  }
  return config->optimizer.lr;
}

void sl_config_betas(const struct sl_config *config, int64_t step, double *beta1, double *beta2) {
  const double s = step > 0 ? (double)step : 0;
  *beta1 = config->optimizer.beta1;
  *beta2 = config->optimizer.beta2;
  if (config->scheduler.type != SL_LR_ONE_CYCLE || !config->scheduler.cycle_momentum ||
      config->optimizer.type == SL_OPT_SGD)
    return;
  const double low = config->scheduler.cycle_min_mom, high = config->scheduler.cycle_max_mom;
  const double after = s - cycle_size(config);
  *beta2 = 0.99;
  if (s < 1) {
    *beta1 = low;
  } else if (after <= 0) {
    *beta1 = high - (high - low) * cycle_scale(config, s);
  } else if (config->scheduler.decay_step_size == 0 || config->scheduler.decay_mom_rate == 0) {
    *beta1 = high;
  } else {
    *beta1 = high * (1 + config->scheduler.decay_mom_rate * after / (double)config->scheduler.decay_step_size);
  }
}
