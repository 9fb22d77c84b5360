/* The folder of a training's checkpoints, and the names in it.
 *
 *   DIR/step-000123/   a checkpoint: manifest.json, model-0000I-of-0000N.safetensors with model.safetensors.index.json
 *                      and config.json for Hugging Face's readers, and for each rank
 *                      optimizer-0000R-of-0000W.safetensors
 *   DIR/latest         one line: the name of the newest checkpoint
 *   DIR/.checkpoint.JOB.0.tmp/   a checkpoint that is being written */
#pragma once

#include "core/base/status.h"
#include "core/model/model.h"

#include <stdint.h>

/* "DIR/step-000123" in *out, to be freed. */
enum sl_status sl_folder_step(char **out, const char *folder, int64_t step);
/* The hidden name of a checkpoint of `folder` that is being written, by a job that was started `start` times before; to
 * be freed. */
enum sl_status sl_folder_hidden(char **out, const char *folder, int64_t start);
/* The path from which sl_new_file_sweep derives hidden names of `folder`; to be freed. */
enum sl_status sl_folder_stem(char **out, const char *folder);
/* Removes what saves of jobs that are gone left unfinished: hidden folders, and hidden files of "latest", that nobody
 * has locked. */
void sl_folder_sweep(const char *folder);
/* Locks `hidden` while the returned descriptor, or this process, exists; -1: the file system has no locks. */
int sl_folder_lock(const char *hidden);
/* Creates `folder` and locks it in *lock, to be closed, while this process saves there; -1: the file system has no
 * locks. Errors: SL_ERR_INPUT if another process has it. */
enum sl_status sl_folder_own(int *lock, const char *folder);
/* Does the folder exist, or could it be created? Nothing is written. Errors: SL_ERR_INPUT naming it. */
enum sl_status sl_folder_check(const char *folder);
/* Creates the folder and its parents if they are missing. Errors: SL_ERR_INPUT naming it. */
enum sl_status sl_folder_make(const char *folder);
/* The checkpoint that `spec` means, in *out, to be freed: "latest" of `folder` (NULL: none was named); the path of a
 * checkpoint; that of a folder of checkpoints, meaning its latest; or "step-000123" of `folder`. Errors: SL_ERR_INPUT. */
enum sl_status sl_folder_find(char **out, const char *folder, const char *spec);
/* Makes `step` the newest. Errors: SL_ERR_IO. */
enum sl_status sl_folder_set_latest(const char *folder, int64_t step);
/* Removes checkpoints that `job` has written (owner.h), but never `step`, its newest, until `keep` of them are left:
 * first those after `step`, which an earlier start of the job left behind, then the oldest. One that cannot be removed
 * is a warning. */
void sl_folder_keep(const char *folder, const char *job, int64_t keep, int64_t step, int64_t start);
/* The steps of all checkpoints of `folder`, ascending, in *steps, to be freed; returns their number, 0 if there is no
 * folder. */
size_t sl_folder_steps(int64_t **steps, const char *folder);

/* Names of files in a checkpoint, to be freed; numbers count from 0. */
enum sl_status sl_folder_model_file(char **out, const char *folder, int number, int count);
enum sl_status sl_folder_optimizer_file(char **out, const char *folder, int rank, int world);
enum sl_status sl_folder_pieces_file(char **out, const char *folder, int rank);

/* Assigns each tensor to one of the model's files: of[i], an array of tensor_count from the caller. Returns the number
 * of files. A file has at most 5e9 bytes, as Hugging Face splits them, or one tensor. */
int sl_folder_model_files(const struct sl_model *model, int *of);
/* The contents of model.safetensors.index.json: {"metadata": {"total_size": N}, "weight_map": {TENSOR: FILE}}; a new
 * reference. */
json_t *sl_folder_index(const struct sl_model *model, const int *of, int count);
