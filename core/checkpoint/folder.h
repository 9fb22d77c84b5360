/* The folder of a training's checkpoints, and what stands in one.
 *
 *   DIR/step-000123/   a checkpoint: manifest.json, model-0000I-of-0000N.safetensors with model.safetensors.index.json and config.json
 *                      for Hugging Face's readers, and of each rank optimizer-0000R-of-0000W.safetensors
 *   DIR/latest         a line: the name of the newest of them
 *   DIR/.checkpoint.JOB.0.tmp/   one that is being written */
#pragma once

#include "core/base/status.h"
#include "core/model/model.h"

#include <stdint.h>

/* "DIR/step-000123" in *out, to be freed. */
enum sl_status sl_folder_step(char **out, const char *folder, int64_t step);
/* Where a checkpoint of `folder` stands until it is complete, of a job that was started `start` times before; to be freed. */
enum sl_status sl_folder_hidden(char **out, const char *folder, int64_t start);
/* The path that stands for hidden ones of `folder`, for sl_new_file_sweep; to be freed. */
enum sl_status sl_folder_stem(char **out, const char *folder);
/* Remove what saves of jobs that are gone left unfinished: hidden folders, and hidden files of "latest", that nobody has locked. */
void sl_folder_sweep(const char *folder);
/* Lock what has the hidden name `hidden` as long as the descriptor returned, or this process, lasts; -1: the file system has no locks. */
int sl_folder_lock(const char *hidden);
/* Could the folder be made, or is it there? Nothing is written. Errors: SL_ERR_INPUT naming it. */
enum sl_status sl_folder_check(const char *folder);
/* Make the folder, and those above it, where they are missing. Errors: SL_ERR_INPUT naming it. */
enum sl_status sl_folder_make(const char *folder);
/* The checkpoint that `spec` means, in *out, to be freed: "latest" of `folder` (NULL: none was named); the path of a checkpoint; or
 * that of a folder of checkpoints, whose latest it is. Errors: SL_ERR_INPUT. */
enum sl_status sl_folder_find(char **out, const char *folder, const char *spec);
/* `step` is the newest. Errors: SL_ERR_IO. */
enum sl_status sl_folder_set_latest(const char *folder, int64_t step);
/* Remove the oldest until `keep` are left, but never `step`. What cannot be removed is a warning. */
void sl_folder_keep(const char *folder, int64_t keep, int64_t step, int64_t start);
/* The steps of all checkpoints of `folder`, increasing, in *steps, to be freed; returns how many. None where there is no folder. */
size_t sl_folder_steps(int64_t **steps, const char *folder);

/* Names of files in a checkpoint, to be freed; numbers count from 0. */
enum sl_status sl_folder_model_file(char **out, const char *folder, int number, int count);
enum sl_status sl_folder_optimizer_file(char **out, const char *folder, int rank, int world);
enum sl_status sl_folder_pieces_file(char **out, const char *folder, int rank);

/* Which of the model's files has each tensor: of[i], of tensor_count, filled by the caller's side; returns how many files there are.
 * A file has at most 5e9 bytes, as Hugging Face cuts them, or one tensor. */
int sl_folder_model_files(const struct sl_model *model, int *of);
/* What model.safetensors.index.json says of them: {"metadata": {"total_size": N}, "weight_map": {TENSOR: FILE}}; new reference. */
json_t *sl_folder_index(const struct sl_model *model, const int *of, int count);
