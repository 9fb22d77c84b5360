/* Undefines the include guards of the headers in kernels/all.h that exist for every number type, and the names that
 * kernels/numbers/real.h chose, so that kernels/numbers/every.h can include the headers again for another number type.
 * It has no include guard because it takes effect each time. */
#undef SL_KERNELS_ALL_H
#undef SL_KERNELS_ACT_H
#undef SL_KERNELS_ATTENTION_H
#undef SL_KERNELS_CLASSIFIER_H
#undef SL_KERNELS_COLUMNS_H
#undef SL_KERNELS_CONTEXT_H
#undef SL_KERNELS_DROPOUT_H
#undef SL_KERNELS_EMBEDDING_H
#undef SL_KERNELS_FLASH_ATTENTION_H
#undef SL_KERNELS_GELU_H
#undef SL_KERNELS_LAYERNORM_H
#undef SL_KERNELS_LLAMA_H
#undef SL_KERNELS_MLP_H
#undef SL_KERNELS_REDUCE_H
#undef SL_K
#undef SL_REAL
#undef SL_STORE
