/* The numbers of profiles that are fitted to measured steps: a table of keys, each with its field in the structs that a
 * prediction reads, its prior and its bounds; and the list of the numbers on which the predictions of a set of rows
 * depend.
 *
 * A number belongs to a kind of GPU (devices of one compute capability and count of multiprocessors share it, whatever
 * their memory), to a cluster, or to a kernel set. The name of a row and the table that it is from play no part. */
#pragma once

#include "core/cluster/cluster.h"
#include "core/cluster/kernel_costs.h"
#include "refit/solve.h"

enum sl_refit_scope { SL_REFIT_DEVICE, SL_REFIT_CLUSTER, SL_REFIT_KERNELS };
/* The struct that holds a number; near and far link are the innermost and the outermost level. */
enum sl_refit_place { SL_REFIT_IN_CLUSTER, SL_REFIT_IN_NEAR_LINK, SL_REFIT_IN_FAR_LINK, SL_REFIT_IN_KERNELS };

enum { SL_REFIT_GENERATIONS = 2 }; /* of NVIDIA's GPUs: compute capability below 9, and from 9 on */

struct sl_refit_key {
  const char *key; /* the key in the profile's file */
  enum sl_refit_scope scope;
  enum sl_refit_place place;
  size_t offset;                                      /* of a double */
  double unit;                                        /* SI units per unit of the file */
  struct sl_refit_prior priors[SL_REFIT_GENERATIONS]; /* in the file's unit; sd 0: not fitted for that generation */
};

/* Ends with a NULL key. */
extern const struct sl_refit_key sl_refit_keys[];

/* The structs that hold a prediction's numbers. Borrowed. */
struct sl_refit_subject {
  struct sl_cluster *cluster;
  struct sl_kernel_costs *kernel_costs;
  const char *kernels; /* the set's name */
};

/* One number: its owner and its key. */
struct sl_refit_number {
  const struct sl_refit_key *key;
  char owner[64]; /* "sm80x108", a cluster's or a kernel set's name */
  struct sl_refit_prior prior;
};

struct sl_refit_numbers {
  struct sl_refit_number *items; /* owned */
  size_t count, capacity;
};

enum { SL_REFIT_OF_ROW = 24 };
/* The numbers that a row's prediction depends on, as indices into the list. */
struct sl_refit_reach {
  size_t number[SL_REFIT_OF_ROW];
  int count;
};

/* Adds the numbers that `subject` depends on to the list, if they are missing there. Errors: SL_ERR_MEMORY. */
enum sl_status sl_refit_numbers_add(struct sl_refit_numbers *numbers, const struct sl_refit_subject *subject,
                                    struct sl_refit_reach *reach);
/* Pins every number but `count` named ones, "OWNER:KEY" (a key that both links have: on both), to its value: its prior
 * gets that centre, and bounds that leave no room. `values` and `priors` have one a number. Errors: SL_ERR_INPUT for a
 * name that no number has. */
enum sl_status sl_refit_numbers_pin(const struct sl_refit_numbers *numbers, char *const *names, int count,
                                    const double *values, struct sl_refit_prior *priors);
/* Does the prior leave no room? */
bool sl_refit_is_pinned(const struct sl_refit_prior *prior);
void sl_refit_numbers_free(struct sl_refit_numbers *numbers);

/* Write a number's value, in the unit of the profile's file, to where a prediction reads it; or read it from there. */
void sl_refit_put(const struct sl_refit_number *number, const struct sl_refit_subject *subject, double value);
double sl_refit_get(const struct sl_refit_number *number, const struct sl_refit_subject *subject);

/* The owner of a device's numbers: "sm80x108". */
void sl_refit_device_owner(const struct sl_device *device, char *out, size_t size);
