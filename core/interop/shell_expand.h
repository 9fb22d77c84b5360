/* What begins with $ in a shell script. Internal to core/interop. */
#pragma once

#include "core/interop/shell_reader.h"

/* Expands what begins with $ at r->at; a dollar that begins nothing stands for itself. A default is not read yet: r->at
 * is its beginning then, and r->end where it ends. */
enum sl_status sl_shell_expand(struct sl_shell_reader *r);
/* Goes back to the text around a default that has been read. */
enum sl_status sl_shell_leave(struct sl_shell_reader *r);
/* `...` at r->at stays as it is written: no command is ever run. */
enum sl_status sl_shell_keep_quoted(struct sl_shell_reader *r);
