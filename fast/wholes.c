/* See wholes.h. */
#include "fast/wholes.h"

#include <stdlib.h>
#include <string.h>

static void forget(void *whole) {
  sl_fast_whole_free(whole);
}

void sl_fast_wholes_clear(struct sl_fast_wholes *k) {
  sl_fast_map_clear(&k->wholes, forget);
  sl_fast_map_clear(&k->shapes, free);
  sl_fast_map_clear(&k->refused, free);
}

/* The layers of all stages as one number, so that equal numbers can be taken for equal layers (FNV-1a). */
static int64_t layers_key(const struct sl_fast_choice *c) {
  uint64_t h = 0xcbf29ce484222325u;
  if (c->stage_layers == NULL) return 0;
  for (int i = 0; i < c->pp; i++) h = (h ^ (uint64_t)c->stage_layers[i]) * 0x100000001b3u;
  return (int64_t)h;
}

/* The part of a choice that is neither a size nor a number of ranks. */
static int64_t flags_of(const struct sl_fast_choice *c) {
  return c->zero_stage | c->sequence_parallel << 2 | (int64_t)c->recompute << 3 | (int64_t)c->schedule << 6;
}

/* Finds what is known about the programs of a choice. They are the same for other worlds with several data-parallel
 * ranks; what is in use at a time is not, with another size or from one micro-batch to several. */
static enum sl_status find_shape(struct sl_fast_wholes *k, const struct sl_fast_choice *c, int64_t **more) {
  const bool many = c->world > c->tp * c->pp;
  const int64_t several = c->n_micro < 3 ? c->n_micro : 3, size = c->micro_batch << 3 | several << 1 | many;
  const struct sl_fast_key key = {{(int64_t)c->tp << 32 | c->pp, flags_of(c), size, layers_key(c), c->virtual_stages}};
  *more = sl_fast_map_find(&k->shapes, &key);
  if (*more != NULL) return SL_OK;
  SL_TRY(sl_calloc(more, 1, sizeof **more));
  const enum sl_status status = sl_fast_map_add(&k->shapes, &key, *more);
  if (status != SL_OK) free(*more);
  return status;
}

/* Remembers that a step was refused, so that the same request is refused at once. `clear`: no other message was
 * recorded before the failure's. */
static void remember(struct sl_fast_wholes *k, const struct sl_fast_key *key, enum sl_status status, bool clear) {
  char *text = status == SL_ERR_INPUT && clear ? strdup(sl_error_message()) : NULL;
  if (text != NULL && sl_fast_map_add(&k->refused, key, text) != SL_OK) free(text);
}

/* Finds the steps that serve for a choice, of `length` as sl_fast_whole_length returns it. */
static enum sl_status find_whole(struct sl_fast_wholes *k, const struct sl_fast_inputs *in,
                                 const struct sl_fast_choice *c, int64_t length, struct sl_fast_whole **out) {
  enum sl_status status;
  int64_t *more;
  const struct sl_fast_key key = {{(int64_t)c->tp << 32 | c->pp, (int64_t)c->world << 32 | flags_of(c), c->micro_batch,
                                   length, layers_key(c), c->virtual_stages}};
  struct sl_fast_whole *w = sl_fast_map_find(&k->wholes, &key);
  const char *refused = w == NULL ? sl_fast_map_find(&k->refused, &key) : NULL;
  const bool clear = sl_error_message()[0] == '\0';
  *out = w;
  if (refused != NULL) return sl_fail(SL_ERR_INPUT, "%s", refused);
  if (w != NULL) return SL_OK;
  SL_GO_FAIL(find_shape(k, c, &more));
  SL_GO_FAIL(sl_fast_whole_take(&w, in->model, in->config, in->cluster, c->world, c->n_micro, length > 0, more));
  SL_GO_FAIL(sl_fast_whole_price(w, in->costs));
  SL_GO_FAIL(sl_fast_map_add(&k->wholes, &key, w));
  *out = w;
  return SL_OK;
fail:
  remember(k, &key, status, clear);
  sl_fast_whole_free(w);
  return status;
}

enum sl_status sl_fast_wholes_predict(struct sl_fast_wholes *k, const struct sl_fast_inputs *in,
                                      const struct sl_fast_choice *c, struct sl_fast_prediction *out) {
  struct sl_fast_whole *w;
  SL_TRY(find_whole(k, in, c, sl_fast_whole_length(in->config, c->n_micro), &w));
  if (!sl_fast_whole_predict(w, c->n_micro, out)) {
    SL_TRY(find_whole(k, in, c, c->n_micro, &w));
    sl_fast_whole_predict(w, c->n_micro, out);
  }
  out->whole = true;
  return SL_OK;
}
