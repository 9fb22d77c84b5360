/* Every kernel header at once, for programs that use them all. */
#ifndef SL_KERNELS_ALL_H
#define SL_KERNELS_ALL_H

#include "kernels/act.h"
#include "kernels/attention.h"
#include "kernels/by_dtype.h"
#include "kernels/classifier.h"
#include "kernels/columns.h"
#include "kernels/context.h"
#include "kernels/convert.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/flash_attention.h"
#include "kernels/fp8.h"
#include "kernels/gelu.h"
#include "kernels/layernorm.h"
#include "kernels/llama.h"
#include "kernels/master.h"
#include "kernels/mlp.h"
#include "kernels/optimizer.h"
#include "kernels/philox.h"
#include "kernels/quantize.h"
#include "kernels/reduce.h"

#endif
