/* The arithmetic of the step state and of the learning rate, inline, on plain structs. The same code runs on the host
 * (core/program/step_state.c and core/config/lr.c, whose headers state the rules) and on a GPU, where the CONTROL op is
 * a kernel so that a step needs no host. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SL_LOSS_SCALE_BOTH __host__ __device__ static inline
#else
#define SL_LOSS_SCALE_BOTH static inline
#endif

/* --- the learning rate --- */

/* Arguments of C's math functions are cast to double: for an integer C++ would choose another overload. */
enum sl_lr_schedule {
  SL_LR_CONSTANT,
  SL_LR_WARMUP,
  SL_LR_WARMUP_DECAY,
  SL_LR_WARMUP_COSINE,
  SL_LR_ONE_CYCLE,
  SL_LR_RANGE_TEST
};

struct sl_lr_rules {
  enum sl_lr_schedule type;
  double warmup_min_lr, warmup_max_lr, warmup_min_ratio, cos_min_ratio;
  int64_t warmup_num_steps, total_num_steps;
  bool warmup_log; /* warmup_type "log" */
  double cycle_min_lr, cycle_max_lr, decay_lr_rate;
  int64_t cycle_first_step_size, cycle_second_step_size, decay_step_size;
  int64_t cycle_first_stair_count, cycle_second_stair_count;
  bool cycle_momentum;
  double cycle_min_mom, cycle_max_mom, decay_mom_rate;
  double range_min_lr, range_step_rate;
  int64_t range_step_size;
  bool range_staircase;
};

/* Rises from 0 to 1 over the warm-up; `i` = last_batch_iteration, 0 <= i < w. */
SL_LOSS_SCALE_BOTH double sl_lr_warmup_gamma(const struct sl_lr_rules *rules, double i, double w) {
  return rules->warmup_log ? log(i + 1) / log(w) : i / w;
}

/* DeepSpeed keeps log(w) away from zero. */
SL_LOSS_SCALE_BOTH double sl_lr_warmup_steps(const struct sl_lr_rules *rules) {
  return fmax(2.0, (double)rules->warmup_num_steps);
}

SL_LOSS_SCALE_BOTH double sl_lr_warmup_lr(const struct sl_lr_rules *rules, double i, bool decay) {
  const double w = sl_lr_warmup_steps(rules), low = rules->warmup_min_lr, high = rules->warmup_max_lr;
  const double total = (double)rules->total_num_steps;
  if (i < 0) return low;
  double gamma = 1;
  if (i < w) {
    gamma = sl_lr_warmup_gamma(rules, i, w);
  } else if (decay) {
    gamma = fmax(0.0, (total - i) / fmax(1.0, total - w));
  }
  return low + (high - low) * gamma;
}

SL_LOSS_SCALE_BOTH double sl_lr_cosine_lr(const struct sl_lr_rules *rules, double lr, double i) {
  const double w = sl_lr_warmup_steps(rules), total = (double)rules->total_num_steps;
  const double low = rules->warmup_min_ratio, end = rules->cos_min_ratio;
  if (i < 0) return 0;
  if (i < w) return lr * (low + (1 - low) * sl_lr_warmup_gamma(rules, i, w));
  const double progress = fmin(1.0, (i - w + 1) / fmax(1.0, total - w));
  return lr * fmax(0.0, end + (1 - end) * (1 + cos(acos(-1.0) * progress)) / 2);
}

/* DeepSpeed counts from last_batch_iteration + 1, which is `step`. */
SL_LOSS_SCALE_BOTH double sl_lr_range_test_lr(const struct sl_lr_rules *rules, double step) {
  double interval = step / (double)rules->range_step_size;
  if (rules->range_staircase) interval = floor(interval);
  return rules->range_min_lr * (1 + rules->range_step_rate * interval);
}

SL_LOSS_SCALE_BOTH double sl_lr_cycle_size(const struct sl_lr_rules *rules) {
  return (double)rules->cycle_first_step_size + (double)rules->cycle_second_step_size;
}

/* 0 at the ends of the cycle, 1 at its peak. Stairs are cut from the whole step number, not from the ratio, so that the
 * peak is reached exactly. */
SL_LOSS_SCALE_BOTH double sl_lr_cycle_scale(const struct sl_lr_rules *rules, double step) {
  const double first = (double)rules->cycle_first_step_size, size = sl_lr_cycle_size(rules);
  const double second = (double)rules->cycle_second_step_size;
  const double ratio = first / size, x = 1 + step / size - floor(1 + step / size);
  const bool rising = x <= ratio;
  const double stairs = (double)(rising ? rules->cycle_first_stair_count : rules->cycle_second_stair_count);
  if (stairs == 0) return rising ? x / ratio : (x - 1) / (ratio - 1);
  const double within = fmod(step, size);
  const double position = within <= first ? within * stairs / first : (size - within) * stairs / second;
  return floor(position) / stairs;
}

SL_LOSS_SCALE_BOTH double sl_lr_one_cycle_lr(const struct sl_lr_rules *rules, double step) {
  const double low = rules->cycle_min_lr, high = rules->cycle_max_lr;
  const double after = step - sl_lr_cycle_size(rules);
  if (step < 1) return low;
  if (after <= 0) return low + (high - low) * sl_lr_cycle_scale(rules, step);
  if (rules->decay_step_size == 0 || rules->decay_lr_rate == 0) return low;
  return low / (1 + rules->decay_lr_rate * after / (double)rules->decay_step_size);
}

SL_LOSS_SCALE_BOTH double sl_lr_at(const struct sl_lr_rules *rules, double lr, int64_t step) {
  const double s = step > 0 ? (double)step : 0;
  switch (rules->type) {
  case SL_LR_CONSTANT:
    break;
  case SL_LR_WARMUP:
    return sl_lr_warmup_lr(rules, s - 1, false);
  case SL_LR_WARMUP_DECAY:
    return sl_lr_warmup_lr(rules, s - 1, true);
  case SL_LR_WARMUP_COSINE:
    return sl_lr_cosine_lr(rules, lr, s - 1);
  case SL_LR_ONE_CYCLE:
    return sl_lr_one_cycle_lr(rules, s);
  case SL_LR_RANGE_TEST:
    return sl_lr_range_test_lr(rules, s);
  }
  return lr;
}

SL_LOSS_SCALE_BOTH bool sl_lr_cycles_betas(const struct sl_lr_rules *rules) {
  return rules->type == SL_LR_ONE_CYCLE && rules->cycle_momentum;
}

/* Adam's beta1 where it cycles opposite to the learning rate. */
SL_LOSS_SCALE_BOTH double sl_lr_beta1(const struct sl_lr_rules *rules, int64_t step) {
  const double s = step > 0 ? (double)step : 0, low = rules->cycle_min_mom, high = rules->cycle_max_mom;
  const double after = s - sl_lr_cycle_size(rules);
  if (s < 1) return low;
  if (after <= 0) return high - (high - low) * sl_lr_cycle_scale(rules, s);
  if (rules->decay_step_size == 0 || rules->decay_mom_rate == 0) return high;
  return high * (1 + rules->decay_mom_rate * after / (double)rules->decay_step_size);
}

/* --- the step state --- */

enum { SL_STEP_STATE_REDUCED = 4 };

struct sl_step_state {
  union {
    double reduced[SL_STEP_STATE_REDUCED];
    struct {
      double loss_sum;   /* of this rank's micro-batches, already divided by the global count */
      double square_sum; /* squares of the (scaled) gradients that this rank owns */
      double overflow;   /* > 0: a non-finite gradient was seen */
      double spare;
    };
  };
  int64_t step;       /* steps taken, skipped ones included */
  int64_t good_steps; /* optimizer updates done */
  int64_t skipped;
  int64_t last_overflow; /* step of the last overflow, -1: none so far */
  int64_t hysteresis;
  double loss_scale;
  double loss, grad_norm, lr;
  double momentum;    /* Adam's beta1 of this step's update */
  int64_t exhausted;  /* 1: an overflow occurred with the scale at its minimum, where DeepSpeed gives up */
  double grad_factor; /* the update multiplies gradients by this: clip / loss_scale; < 0: skip the update */
};

/* The constants of the configuration that a step needs. */
struct sl_step_rules {
  struct sl_lr_rules scheduler;
  double lr, beta1;
  bool cycles_betas; /* the schedule sets beta1 */
  bool checked;      /* a non-finite gradient skips the step */
  bool dynamic;      /* the loss scale is dynamic */
  bool consecutive_hysteresis;
  int64_t hysteresis, loss_scale_window;
  double min_loss_scale;
  double ranks; /* factor from the reduced gradient to that of DeepSpeed's reduction: 1, or dp for "sum" */
  double clip;  /* largest norm, 0 = off */
};

/* Loss scaling follows DeepSpeed's fp16/loss_scaler.py. */
SL_LOSS_SCALE_BOTH void sl_loss_scale_shrink(struct sl_step_state *c, const struct sl_step_rules *rules) {
  if (c->hysteresis <= 1) {
    c->exhausted = c->loss_scale == rules->min_loss_scale;
    c->loss_scale = fmax(c->loss_scale / 2, rules->min_loss_scale);
  } else {
    c->hysteresis--;
  }
  c->last_overflow = c->step;
}

SL_LOSS_SCALE_BOTH void sl_loss_scale_grow(struct sl_step_state *c, const struct sl_step_rules *rules) {
  if (rules->consecutive_hysteresis) c->hysteresis = rules->hysteresis;
  const int64_t good = c->step - c->last_overflow - 1;
  if (good <= 0 || good % rules->loss_scale_window != 0) return;
  if (!rules->consecutive_hysteresis) c->hysteresis = rules->hysteresis;
  c->loss_scale *= 2;
}

/* The body of sl_step_state_advance. inf - inf and nan - nan are nan, a test that C and C++ spell identically. */
SL_LOSS_SCALE_BOTH void sl_loss_scale_step(struct sl_step_state *c, const struct sl_step_rules *rules) {
  const bool overflow = rules->checked && (c->overflow > 0 || !(c->square_sum - c->square_sum == 0));
  c->loss = c->loss_sum;
  c->grad_norm = sqrt(c->square_sum) * rules->ranks / c->loss_scale;
  if (overflow) {
    c->grad_factor = -1;
    c->skipped++;
  } else {
    c->grad_factor = rules->ranks / c->loss_scale;
    if (rules->clip > 0 && c->grad_norm > rules->clip) c->grad_factor *= rules->clip / (c->grad_norm + 1e-6);
    /* the schedule counts updates: DeepSpeed does not advance it on an overflow */
    c->lr = sl_lr_at(&rules->scheduler, rules->lr, c->good_steps);
    c->momentum = rules->cycles_betas ? sl_lr_beta1(&rules->scheduler, c->good_steps) : rules->beta1;
    c->good_steps++;
  }
  if (rules->dynamic && overflow) sl_loss_scale_shrink(c, rules);
  if (rules->dynamic && !overflow) sl_loss_scale_grow(c, rules);
  c->step++;
  for (int i = 0; i < SL_STEP_STATE_REDUCED; i++) c->reduced[i] = 0;
}
