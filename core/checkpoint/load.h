/* Reading a checkpoint: under whatever plan, each rank reads of it what it holds. No step is taken before every byte that the manifest
 * tells of has been held against its checksum: as it is read, where a rank needs it with all that its checksum is of (held.h); else
 * beforehand, by all ranks together. */
#pragma once

#include "core/base/file.h"
#include "core/checkpoint/manifest.h"

struct sl_checkpoint {
  char *path; /* owned */
  struct sl_manifest manifest;
  struct sl_file *files; /* of the manifest; owned, with their names */
  char **names;
  int64_t *data;        /* per tensor of the manifest: of a weight, where its file has it */
  struct sl_held *held; /* what is verified as it is read (held.h); owned */
};

/* Open the checkpoint `path`: its manifest, and that all files are there and as long as it says. Errors: SL_ERR_INPUT naming the file.
 * On failure nothing is held. */
enum sl_status sl_checkpoint_open(struct sl_checkpoint *checkpoint, const char *path);
void sl_checkpoint_close(struct sl_checkpoint *checkpoint); /* accepts a zeroed one */

/* Is it of this model, this optimizer and this seed? Errors: SL_ERR_INPUT with what differs. */
enum sl_status sl_checkpoint_fits(const struct sl_checkpoint *checkpoint, const struct sl_plan *plan);

/* Hold share `share` of `shares` of all bytes against their checksums, but for pieces with claimants[piece] above 0 (NULL: there are none).
 * Errors: SL_ERR_INPUT naming file, tensor and elements. */
enum sl_status sl_checkpoint_verify(const struct sl_checkpoint *checkpoint, const int32_t *claimants, int share,
                                    int shares);

/* Elements first .. first+count of the logical tensor of `tensor`. Errors: SL_ERR_IO. */
enum sl_status sl_checkpoint_read(const struct sl_checkpoint *checkpoint, const struct sl_manifest_tensor *tensor,
                                  int64_t first, int64_t count, float *out);
