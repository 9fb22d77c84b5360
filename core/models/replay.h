/* What recomputation makes again. */
#pragma once

#include "core/models/tape.h"

/* Before the forward: which values backwards read, or need to make others again. */
enum sl_status sl_replay_plan(struct sl_tape *tape);
/* In the backward of section `s`: draft again what the backwards of ops first ... end - 1 read and is not there. */
enum sl_status sl_replay_branch(struct sl_tape *tape, struct sl_section *s, int first, int end);
