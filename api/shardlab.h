/* The public C API of shardlab's predictions: libshardlab, `pkg-config --cflags --libs shardlab`.
 *
 *   shardlab_result *result;
 *   const char *flags[] = {"--world", "64", "--zero-stage", "3", NULL};
 *   if (shardlab_predict("llama3-8b", "ds_config.json", "dgx-h100", flags, &result) == SHARDLAB_OK)
 *     puts(shardlab_record(result));
 *   else
 *     fprintf(stderr, "%s\n", shardlab_error(result));
 *   shardlab_free(result);
 *
 * A call keeps all its state in its result, so any thread may call at any time. While it builds programs a call uses as
 * many threads as there are cores; they have ended when it returns. The library prints nothing, starts no process, and
 * uses neither MPI nor a GPU. Numbers are read and written in the "C" locale, whatever the caller's locale is.
 *
 * Functions may be added, but none is changed or removed as long as the library is called libshardlab.so.0. */
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
 * model, config, cluster: what --model, --config and --cluster take: a built-in name, the path of a file, or the JSON
 *   itself (a text that begins with '{'). NULL: not given; a config may be missing beside "--preset".
 * flags: the other words of the command line, NULL behind the last; NULL: none. --trace writes its file; flags that
 *   write other files, predict more than one configuration or end the command (--json, --table, --sweep, --out, --jobs,
 *   --max-micro-batch, --min-world, --max-seq, --require-fit) are bad input.
 * result: receives a new result, whatever is returned, or NULL if there was no memory for one. Free it with
 *   shardlab_free().
 *
 * All arguments remain the caller's and are not used after the return. Returns an enum shardlab_status. */
int shardlab_predict(const char *model, const char *config, const char *cluster, const char *const *flags,
                     shardlab_result **result);

/* The run record, JSON in UTF-8: docs/record.md says what its keys mean, in which unit. NULL where the prediction
 * failed. It and the texts below belong to the result. */
const char *shardlab_record(const shardlab_result *result);

/* Why there is no record, in one line without a newline: the place, the value and what was expected. NULL where there
 * is a record. For a NULL result it says that memory ran out. */
const char *shardlab_error(const shardlab_result *result);

/* The warnings that the command would have printed, without repetitions: their count, and the i-th line for 0 <= i <
 * count (NULL past the last). */
size_t shardlab_warning_count(const shardlab_result *result);
const char *shardlab_warning(const shardlab_result *result, size_t i);

/* Frees a result and its texts. NULL is allowed. */
void shardlab_free(shardlab_result *result);

#ifdef __cplusplus
}
#endif

#endif
