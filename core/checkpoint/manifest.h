/* The manifest of a checkpoint: manifest.json, version 1.
 *
 *   {"xxh3": "HASH",                                of the rest of the file, from the second line on
 *    "format": "shardlab checkpoint", "version": 1,
 *    "model": {...},                                as Hugging Face's config.json
 *    "optimizer": "adam" or "sgd",                  whose moments they are
 *    "step": N, "samples": N, "seed": N,            steps taken; samples drawn from the data's order; of all random numbers
 *    "precision": "fp32",                           of the run: fp16's loss scale means nothing to others
 *    "data": {"samples": N},                        of the source that they were drawn from
 *    "state": {"good_steps", "skipped", "last_overflow", "hysteresis", "exhausted", "loss_scale", "lr", "momentum"},
 *    "history": {...},                              what the steps were (core/checkpoint/history.h); older checkpoints have none
 *    "plan": {"world", "tp", "pp", "dp", "zero_stage"},      that wrote it; nobody reads it
 *    "files": [{"name", "bytes", "hashed", "xxh3"}],         xxh3: of its first `hashed` bytes
 *    "tensors": [{"name", "role", "type": "F32", "shape": [..], "row", "width", "members", "pieces": [
 *      {"file", "member", "first", "count", "offset", "xxh3"}]}]}
 *
 * "role" is "weight", "moment1" or "moment2". "row", "width" and "members" say how tensor parallelism cut the tensor (core/plan/cut.h);
 * a piece is elements [first, first + count) of a member's local tensor, less padding. It stands `offset` bytes into files[file],
 * or, without an offset, where its elements stand in that file's tensor of the same name. The pieces of a tensor have each of its
 * elements once. */
#pragma once

#include "core/base/json.h"
#include "core/config/loss_scale.h"
#include "core/model/model.h"
#include "core/op/op.h"
#include "core/plan/cut.h"

enum { SL_MANIFEST_VERSION = 1 };

struct sl_manifest_file {
  const char *name;
  int64_t bytes, hashed;
  uint64_t hash;
};

struct sl_manifest_piece {
  int tensor; /* among the manifest's */
  int file, member;
  int64_t first, count, held; /* held: less padding */
  int64_t offset;             /* -1: where its elements stand in a tensor of the file */
  uint64_t hash;
};

struct sl_manifest_tensor {
  const char *name;
  enum sl_role role; /* SL_ROLE_PARAM of a weight */
  int n_dim;
  int64_t shape[2], numel;
  struct sl_cut cut;
  int first_piece, piece_count; /* by member, then by first */
};

struct sl_manifest {
  struct sl_json doc; /* holds names and the model; owned */
  uint64_t hash;      /* of its text */
  int64_t step, samples, seed, data_samples;
  char optimizer[16], precision[16];
  struct sl_step_state state;
  const json_t *history;              /* NULL: it has none; of the document */
  struct sl_manifest_file *files;     /* owned, as all that follow */
  struct sl_manifest_tensor *tensors; /* by name, then by role */
  struct sl_manifest_piece *pieces;
  int file_count, tensor_count, piece_count;
};

/* Read the manifest `path`: its checksum first, then as sl_manifest_parse. On failure nothing is held. */
enum sl_status sl_manifest_load(struct sl_manifest *manifest, const char *path);
/* The same from a text called `name`, whose checksum is not asked for. Errors: SL_ERR_INPUT with place, key and expectation: another format or
 * version, numbers out of range, pieces that leave elements out or have them twice, or lie outside their file. */
enum sl_status sl_manifest_parse(struct sl_manifest *manifest, const char *name, const char *text, size_t size);
void sl_manifest_free(struct sl_manifest *manifest); /* accepts a zeroed one */

/* The state `role` of tensor `name`; NULL: it has none. */
const struct sl_manifest_tensor *sl_manifest_find(const struct sl_manifest *manifest, const char *name,
                                                  enum sl_role role);
/* The piece that has local element `local` of `member`; there is one for every element that is no padding. */
const struct sl_manifest_piece *sl_manifest_piece_at(const struct sl_manifest *manifest,
                                                     const struct sl_manifest_tensor *tensor, int member,
                                                     int64_t local);
/* Write `root`, an object with all keys but "xxh3", to `path`. */
enum sl_status sl_manifest_save(const json_t *root, const char *path);
