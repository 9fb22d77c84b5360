/* The manifest of a checkpoint: manifest.json, version 1.
 *
 *   {"xxh3": "HASH",                                of the rest of the file, from the second line on
 *    "job": "NAME",                                 that wrote it (core/checkpoint/owner.h), always first; missing in
 *                                                   older checkpoints
 *    "format": "shardlab checkpoint", "version": 1,
 *    "model": {...},                                as Hugging Face's config.json
 *    "optimizer": "adam" or "sgd",                  whose moments they are
 *    "step": N, "samples": N, "seed": N,            steps taken; samples drawn from the data's order; of all random
 *                                                   numbers
 *    "precision": "fp32",                           of the run: fp16's loss scale has no meaning for other precisions
 *    "data": {"samples": N},                        of the source that they were drawn from
 *    "state": {"good_steps", "skipped", "last_overflow", "hysteresis", "exhausted", "loss_scale", "lr", "momentum"},
 *    "history": {...},                              of the steps (core/checkpoint/history.h); missing in older
 *                                                   checkpoints
 *    "plan": {"world", "tp", "pp", "dp", "zero_stage"},      that wrote it; for information only
 *    "files": [{"name", "bytes", "hashed", "xxh3"}],         xxh3: of its first `hashed` bytes
 *    "tensors": [{"name", "role", "type": "F32", "shape": [..], "row", "width", "lead", "members", "pieces": [
 *      {"file", "member", "first", "count", "offset", "xxh3"}]}]}
 *
 * "role" is "weight", "moment1", "moment2" or, of a linear weight in fp8, "fp8_scale", of shape [3, 2], or
 * "fp8_amax_history", of shape [3, H]: a row for the layer's input, the weight and the gradient of the layer's output,
 * of a scale and its inverse, or of the largest magnitudes of the last H steps, the newest first. "row", "width", "lead" and "members" say how tensor parallelism sharded
 * the tensor (core/plan/cut.h); "lead" is missing where it is 1. A piece is elements [first, first + count) of a
 * member's local tensor, without padding. It is stored from byte `offset` of files[file] on or, without an offset,
 * where its elements belong in that file's tensor of the same name. The pieces of a tensor contain each of its elements
 * once.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/loss_scale.h"
#include "core/model/model.h"
#include "core/op/op.h"
#include "core/plan/cut.h"

enum {
  SL_MANIFEST_VERSION = 1,
  SL_MANIFEST_LINE = 29 /* bytes of the first line, {"xxh3": "HASH", with its end */
};

struct sl_manifest_file {
  const char *name;
  int64_t bytes, hashed;
  uint64_t hash;
};

struct sl_manifest_piece {
  int tensor; /* index in the manifest */
  int file, member;
  int64_t first, count, held; /* held: without padding */
  int64_t offset;             /* -1: where its elements belong in a tensor of the file */
  uint64_t hash;
};

struct sl_manifest_tensor {
  const char *name;
  enum sl_role role; /* SL_ROLE_PARAM of a weight */
  int n_dim;
  int64_t shape[2], numel;
  struct sl_cut cut;
  int first_piece, piece_count; /* sorted by member, then by first */
};

struct sl_manifest {
  struct sl_json doc; /* holds names and the model; owned */
  uint64_t hash;      /* of its text */
  int64_t step, samples, seed, data_samples;
  char optimizer[16], precision[16];
  struct sl_step_state state;
  const json_t *history;              /* NULL: it has none; belongs to the document */
  struct sl_manifest_file *files;     /* owned, as everything below */
  struct sl_manifest_tensor *tensors; /* sorted by name, then by role */
  struct sl_manifest_piece *pieces;
  int file_count, tensor_count, piece_count;
};

/* Reads the manifest `path`: checks its checksum first, then as sl_manifest_parse. On failure nothing is allocated. */
enum sl_status sl_manifest_load(struct sl_manifest *manifest, const char *path);
/* The same from a text called `name`, whose checksum is not checked. Errors: SL_ERR_INPUT with place, key and
 * expectation: another format or version, numbers out of range, pieces that omit or repeat elements, or are outside
 * their file. */
enum sl_status sl_manifest_parse(struct sl_manifest *manifest, const char *name, const char *text, size_t size);
void sl_manifest_free(struct sl_manifest *manifest); /* accepts a zeroed one */

/* The state `role` of tensor `name`; NULL if there is none. */
const struct sl_manifest_tensor *sl_manifest_find(const struct sl_manifest *manifest, const char *name,
                                                  enum sl_role role);
/* The piece that contains local element `local` of `member`; every element that is not padding is in one. */
const struct sl_manifest_piece *sl_manifest_piece_at(const struct sl_manifest *manifest,
                                                     const struct sl_manifest_tensor *tensor, int member,
                                                     int64_t local);
/* Writes `root`, an object with all keys except "xxh3", to `path`. */
enum sl_status sl_manifest_save(const json_t *root, const char *path);
