/* Recomputation: drafts again what a backward needs and the forward has dropped. */
#pragma once

#include "core/models/tape.h"

/* Before the forward: determines which values backwards read, directly or to recompute others. */
enum sl_status sl_replay_plan(struct sl_tape *tape);
/* In the backward of section `s`: drafts again what the backwards of ops first ... end - 1 read and is no longer
 * there. */
enum sl_status sl_replay_branch(struct sl_tape *tape, struct sl_section *s, int first, int end);
