/* shardlab's predictions for other programs: libshardlab, `pkg-config --cflags --libs shardlab`.
 *
 *   shardlab_result *result;
 *   const char *flags[] = {"--world", "64", "--zero-stage", "3", NULL};
 *   if (shardlab_predict("llama3-8b", "ds_config.json", "dgx-h100", flags, &result) == SHARDLAB_OK)
 *     puts(shardlab_record(result));
 *   else
 *     fprintf(stderr, "%s\n", shardlab_error(result));
 *   shardlab_free(result);
 *
 * What a call knows stands in its result alone, so any thread may call at any time. A call uses as many threads as there are
 * cores while it builds programs, and has ended them when it returns. Nothing is printed, no process is started, neither MPI nor
 * a GPU is looked for, and numbers are read and written in the "C" locale whatever the caller's is.
 *
 * Functions are added here, and none is changed or taken away while the library is called libshardlab.so.0. */
#ifndef SHARDLAB_H
#define SHARDLAB_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What shardlab_predict returns: the exit statuses of the command. */
enum shardlab_status {
  SHARDLAB_OK = 0,
  SHARDLAB_FAILED = 1,   /* out of memory, or a fault of ours */
  SHARDLAB_BAD_INPUT = 2 /* an input that cannot be used: the message says which, and what was expected */
};

typedef struct shardlab_result shardlab_result;

/* The version of the library, as "0.1.0". Static. */
const char *shardlab_version(void);

/* Predict one training configuration, as `shardlab predict` does.
 *
 * model, config, cluster: what --model, --config and --cluster take: a built-in name, the path of a file, or the JSON itself (a
 *   text that begins with '{'). NULL: not given; a config may be missing beside "--preset".
 * flags: the other words of the command line, NULL behind the last; NULL: none. --trace writes its file; flags that write other
 *   files or predict more than one configuration (--json, --table, --out, --jobs) are bad input.
 * result: becomes a new result, whatever is returned; NULL where there was no memory for one. Ends with shardlab_free().
 *
 * All arguments stay the caller's, and are not looked at after the return. Returns an enum shardlab_status. */
int shardlab_predict(const char *model, const char *config, const char *cluster, const char *const *flags,
                     shardlab_result **result);

/* The run record, JSON in UTF-8: docs/record.md says what its keys mean, in which unit. NULL where the prediction failed. It and
 * the texts below belong to the result. */
const char *shardlab_record(const shardlab_result *result);

/* Why there is no record, in one line without an end of line: the place, the value and what was expected. NULL where there is
 * a record. Of a NULL result: that memory ran out. */
const char *shardlab_error(const shardlab_result *result);

/* What the command would have warned of, each said once: how many, and the i-th line of 0 <= i < count (NULL past the last). */
size_t shardlab_warning_count(const shardlab_result *result);
const char *shardlab_warning(const shardlab_result *result, size_t i);

/* End a result and its texts. NULL is fine. */
void shardlab_free(shardlab_result *result);

#ifdef __cplusplus
}
#endif

#endif
