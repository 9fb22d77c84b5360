/* Reading one piece of an open checkpoint and comparing it with its checksum: what all that reads pieces stands on. */
#pragma once

#include "core/checkpoint/load.h"

/* One piece: its elements, without padding, at *out somewhere in `room`, of sl_direct_room(SL_PIECE_ELEMENTS * 4) bytes from a block's
 * boundary on; past the page cache where `alone`. Errors: SL_ERR_INPUT naming file, tensor and elements. */
enum sl_status sl_verify_piece(const struct sl_checkpoint *checkpoint, const struct sl_manifest_piece *piece,
                               bool alone, char *room, float **out);
