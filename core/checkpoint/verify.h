/* Reads one piece of an open checkpoint and compares it with its checksum; all code that reads pieces uses this. */
#pragma once

#include "core/checkpoint/load.h"

/* Reads and verifies one piece: its elements, without padding, are at *out somewhere in `room`, which has
 * sl_direct_room(SL_PIECE_ELEMENTS * 4) bytes and begins at a block boundary; `alone`: bypasses the page cache. Errors:
 * SL_ERR_INPUT naming file, tensor and elements. */
enum sl_status sl_verify_piece(const struct sl_checkpoint *checkpoint, const struct sl_manifest_piece *piece,
                               bool alone, char *room, float **out);
