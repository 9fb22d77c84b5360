/* Buffers that consist of pieces (sl_buffer.pieces): one range of bytes whose parts have lifetimes of their own, as
 * whole gradients have where a framework allocates them tensor by tensor. Internal to core/place. */
#pragma once

#include "core/program/program.h"

/* Places such buffers of a space one behind the other from byte `at` on, and their pieces in them. Returns the end. */
int64_t sl_pieces_place(struct sl_class *rank_class, enum sl_space space, int64_t at);
/* Of the pieces of buffer `whole`, the first that ends above byte `lo`, counted from 0. */
int32_t sl_pieces_find(const struct sl_class *rank_class, int32_t whole, int64_t lo);
