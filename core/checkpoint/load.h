/* Reads a checkpoint. Under any plan, each rank reads only what it holds. No step is taken before every byte that the
 * manifest lists has been compared with its checksum: as it is read, if a rank needs everything that the checksum
 * covers (held.h), otherwise beforehand, by all ranks together. */
#pragma once

#include "core/base/file.h"
#include "core/checkpoint/manifest.h"

struct sl_checkpoint {
  char *path; /* owned */
  struct sl_manifest manifest;
  struct sl_file *files; /* of the manifest; owned, with their names */
  char **names;
  int64_t *data;        /* per tensor of the manifest: for a weight, its offset in its file */
  struct sl_held *held; /* what is verified as it is read (held.h); owned */
};

/* Opens the checkpoint `path`: reads its manifest, and checks that all files exist with the right size. Errors:
 * SL_ERR_INPUT naming the file. On failure nothing is open. */
enum sl_status sl_checkpoint_open(struct sl_checkpoint *checkpoint, const char *path);
void sl_checkpoint_close(struct sl_checkpoint *checkpoint); /* accepts a zeroed one */

/* Compares share `share` of `shares` of all bytes with their checksums, except pieces with claimants[piece] above 0
 * (NULL: no exceptions). Errors: SL_ERR_INPUT naming file, tensor and elements. */
enum sl_status sl_checkpoint_verify(const struct sl_checkpoint *checkpoint, const int32_t *claimants, int share,
                                    int shares);

/* Reads elements first .. first+count of the logical tensor of `tensor`. Errors: SL_ERR_IO. */
enum sl_status sl_checkpoint_read(const struct sl_checkpoint *checkpoint, const struct sl_manifest_tensor *tensor,
                                  int64_t first, int64_t count, float *out);
