/* clang-format off */
/*===- ingot_abi.h - the interface of generated code and the runtime ------------------------------------===*\
 *
 * The only header that generated code, the compiler and the runtime share. C, fixed-width types; every struct
 * begins with its size; comments are the specification. A lit test compares the offsets with what codegen uses.
 *
 * One object per CPU variant holds kernels, programs (the static plan of one step) and tables, and exports one
 * function, `ingot_module_query_<isa>` of type `ingot_module_query_fn`. Generated code calls nothing by name,
 * allocates nothing, takes no lock and holds no address of another object.
 *
\*===----------------------------------------------------------------------------------------------------===*/
#ifndef INGOT_RUNTIME_ABI_INGOT_ABI_H
#define INGOT_RUNTIME_ABI_INGOT_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INGOT_ABI_VERSION 3u
#define INGOT_MAX_SLOTS 12
#define INGOT_MAX_WEIGHTS 8
/* Tokens per KV page. */
#define INGOT_KV_PAGE 16
/* Pages of a layer that lie side by side: page p of a layer is at kv + p / 16 * kv_stride + p % 16 * page_bytes. */
#define INGOT_KV_GROUP 16
/* A slot with this bit lies in the worker's private area, else in the arena; the rest is a byte offset. */
#define INGOT_SLOT_PRIVATE (UINT64_C(1) << 63)

/* Bits of ingot_step_v1::flags. */
enum {
  INGOT_STEP_ARGMAX = 1 /* the best logit of each output row is wanted and nothing else: a program with
                           argmax_panels leaves ingot_argmax_v1 entries and no logits                         */
};

/* The largest of the logits that one part computed of one row, and the lowest index that has it. Where one of them
 * is not finite, `value` is NaN and `index` that of the first such logit. */
typedef struct ingot_argmax_v1 {
  float value;
  int32_t index;
} ingot_argmax_v1;

/* One step over a ragged batch: rows of all sequences, sequence by sequence, positions ascending inside each.
 * Filled by the runtime, constant while the step runs. All arrays are owned by the caller. */
typedef struct ingot_step_v1 {
  uint32_t struct_size;
  uint32_t n_rows;            /* token rows, 1 .. max_rows of the program                                     */
  uint32_t n_seqs;            /* sequences with at least one row                                              */
  uint32_t n_out;             /* rows whose logits are wanted, 0 .. n_rows                                    */
  const int32_t *tokens;      /* [n_rows] ids, each inside the embedding                                      */
  const int32_t *positions;   /* [n_rows] absolute position in the row's own sequence                         */
  const int32_t *row_seq;     /* [n_rows] index of the row's sequence in this step                            */
  const int32_t *query_start; /* [n_seqs + 1] first row of each sequence; the last entry is n_rows            */
  const int32_t *kv_len;      /* [n_seqs] tokens in the KV cache once this step's rows are appended           */
  const int32_t *block_table; /* [n_seqs * block_stride] page index of token position p: entry p / 16         */
  uint32_t block_stride;
  uint32_t flags;             /* INGOT_STEP_*                                                                 */
  const int32_t *out_rows;    /* [n_out] ascending row indices                                                */
  const float *const *rope;   /* [module n_ropes] tables [context][pairs][2] of (cos, sin), attention factor
                                 multiplied in; rows 0 .. max position of the step are filled                 */
} ingot_step_v1;

/* Operands of one launch on one worker, resolved by the runtime when the module is loaded. */
typedef struct ingot_args_v1 {
  uint32_t struct_size;
  uint32_t layer;
  uint8_t *kv;                            /* first page of the launch's KV layer, or NULL                     */
  uint64_t kv_stride;                     /* bytes from a group of that layer's pages to the next group       */
  void *scratch;                          /* private to the worker, the kernel's scratch_bytes, 64-aligned    */
  void *slot[INGOT_MAX_SLOTS];            /* activations, 64-aligned; order: the kernel's operands, results   */
  const uint8_t *weight[INGOT_MAX_WEIGHTS]; /* packed parameters, 64-aligned                                  */
} ingot_args_v1;

/* A kernel computes share `part` of `parts` of its launch. Returns 0; another value stops the step with an error. */
typedef int32_t (*ingot_kernel_fn)(const ingot_step_v1 *, const ingot_args_v1 *, uint32_t part, uint32_t parts);

typedef struct ingot_kernel_v1 {
  uint32_t struct_size;
  uint32_t scratch_bytes;  /* per worker                                                                      */
  const char *name;
  const char *family;
  ingot_kernel_fn fn;
  uint32_t max_parts;      /* more than one per worker: launches may be cut into more parts than there are workers, as
                              far as that many, and every worker may compute any of them; a part less would not be
                              worth its call. Else a launch has one part for each worker                      */
  uint32_t reserved0;
} ingot_kernel_v1;

enum {
  INGOT_LAUNCH_REPLICATED = 1 /* every worker runs the whole kernel (part 0 of 1) into its private slots      */
};

/* Launches with equal `stage` run without a barrier between them; stages ascend and a barrier separates them. */
typedef struct ingot_launch_v1 {
  uint32_t kernel; /* index into the module's kernels                                                         */
  uint32_t stage;
  uint32_t flags;
  uint32_t layer;
  int32_t kv_layer; /* index into the module's kv_layers, or -1                                               */
  uint16_t n_slots;
  uint16_t n_weights;
  uint64_t slot[INGOT_MAX_SLOTS];     /* see INGOT_SLOT_PRIVATE                                               */
  uint64_t weight[INGOT_MAX_WEIGHTS]; /* byte offset in the weight section of the pack                        */
} ingot_launch_v1;

enum { INGOT_TAP_EMBED = 0, INGOT_TAP_LAYER = 1, INGOT_TAP_NORM = 2 };

/* Where the plan holds a hidden state that tests may read: after `stage`, f32 rows of `stride` floats.
 * Embed and layer taps have one row per token row; the norm tap one per entry of out_rows. */
typedef struct ingot_tap_v1 {
  uint32_t kind;
  uint32_t layer;
  uint32_t stage;
  uint32_t width;
  uint32_t stride;
  uint32_t reserved0;
  uint64_t slot;
} ingot_tap_v1;

/* The plan of one step for one M class. Serves min_rows <= n_rows <= max_rows. */
typedef struct ingot_program_v1 {
  uint32_t struct_size;
  uint32_t m_class;
  uint32_t min_rows;
  uint32_t max_rows;
  uint32_t n_stages;
  uint32_t n_launches;
  uint32_t n_taps;
  uint32_t logits_stride; /* floats per row of the logits                                                     */
  uint64_t arena_bytes;
  uint64_t private_bytes; /* per worker                                                                       */
  uint64_t logits_slot;   /* f32 [max_out][logits_stride]                                                     */
  const ingot_launch_v1 *launches;
  const ingot_tap_v1 *taps;
  uint32_t max_out;       /* most entries of out_rows in a step, 1 .. max_rows: bounds the logits' memory, which
                             at max_rows of a large vocabulary would be the largest buffer of all. At least
                             min(max_rows, the module's max_seqs)                                             */
  uint32_t argmax_panels; /* 0: the program stores logits whatever the step's flags. Else P = ceil(vocab / 16), and
                             with INGOT_STEP_ARGMAX the launch that fills the logits leaves, for each output row,
                             one ingot_argmax_v1 per part: part p of n covers the logits from b(p) to b(p + 1),
                             b(p) = 16 * floor(P * p / n), and its entry lies where logit b(p) of the row would;
                             parts with b(p) = b(p + 1) leave none. That launch is the program's last, not
                             replicated, and may run again after the step with the flag cleared               */
} ingot_program_v1;

typedef struct ingot_param_v1 {
  const char *name;
  const char *scheme;
  const char *layout;
  uint64_t rows;   /* N                                                                                       */
  uint64_t cols;   /* K                                                                                       */
  uint64_t offset; /* in the weight section                                                                   */
  uint64_t bytes;
} ingot_param_v1;

enum { INGOT_KV_F32 = 0, INGOT_KV_F16 = 1, INGOT_KV_BF16 = 2, INGOT_KV_INT8 = 3 };

/* Bytes of one kv head in a page: K as [dim][16], then V as [16][v_dim]. INGOT_KV_INT8: int8 codes, behind V the f32
 * scales of the tokens' K [16] and of their V [16] (a value is code * scale), rounded up to 64. */
#ifdef __cplusplus
constexpr
#else
static inline
#endif
uint64_t ingot_kv_head_bytes(uint32_t dtype, uint64_t dim, uint64_t v_dim) {
  uint64_t elements = (dim + v_dim) * INGOT_KV_PAGE;
  if (dtype == INGOT_KV_INT8)
    return (elements + 2 * 4 * INGOT_KV_PAGE + 63) / 64 * 64;
  return elements * (dtype == INGOT_KV_F32 ? 4 : 2);
}

/* One layer's cache. In a page the heads follow each other: page_bytes is heads * ingot_kv_head_bytes(...). */
typedef struct ingot_kv_layer_v1 {
  uint32_t heads;
  uint32_t dim;
  uint32_t v_dim;
  uint32_t dtype;
  uint32_t window; /* a row sees itself and window - 1 before it; 0: all                                      */
  uint32_t reserved0;
  uint64_t page_bytes;
} ingot_kv_layer_v1;

/* Angle of pair i at position p: p * inv_freq[i]; cos and sin are multiplied by `scale`. */
typedef struct ingot_rope_v1 {
  uint32_t pairs;
  uint32_t reserved0;
  double scale;
  const double *inv_freq;
} ingot_rope_v1;

typedef struct ingot_module_v1 {
  uint32_t struct_size;
  uint32_t abi_version;
  const char *isa;       /* avx2, avx512, vnni, avx512bf16, amx, amxbf16, ref                                 */
  const char *features;  /* comma-separated CPU features that the code needs, LLVM's names                    */
  const char *build;     /* compiler version and options, for `info`                                          */
  uint64_t weight_hash;  /* hash over (name, scheme, layout, shape, offset) of all params; equals the pack's  */
  uint64_t weight_bytes;
  uint32_t vocab;
  uint32_t hidden;
  uint32_t layers;
  uint32_t context;      /* positions 0 .. context - 1 are served                                             */
  uint32_t max_seqs;
  uint32_t n_kernels;
  uint32_t n_programs;
  uint32_t n_params;
  uint32_t n_kv_layers;
  uint32_t n_ropes;
  const ingot_kernel_v1 *kernels;
  const ingot_program_v1 *programs; /* ascending m_class                                                      */
  const ingot_param_v1 *params;
  const ingot_kv_layer_v1 *kv_layers;
  const ingot_rope_v1 *ropes;
} ingot_module_v1;

/* Returns the module, or NULL where `max_version` is older than the object. */
typedef const ingot_module_v1 *(*ingot_module_query_fn)(uint32_t max_version);

#ifdef __cplusplus
}
#endif
#endif
