/*===- ingot.h - compiling models, C API of libingot ----------------------------------------------------===*\
 *
 * A model file (GGUF, or a Hugging Face directory) in; a standalone executable, a weight pack, an object or
 * code in this process out. What is compiled in the process runs through libingot_runtime (ingot_runtime.h).
 *
 * Opaque handles; every function that can fail returns an ingot_status and writes a message (UTF-8,
 * zero-terminated, cut to fit; empty on success) to `message`, which may be NULL with `message_size` 0.
 * Structs begin with their size, which the caller sets (the *_init functions do); fields that an older caller
 * does not know keep their defaults. Strings passed in are copied. The library prints nothing, reads no
 * environment variable and never ends the process. It leaves signal handlers as they are; only while an
 * executable is linked does the linker have its own.
 *
 * Threads: any function may be called from any thread, and different handles at the same time. Compiles, and
 * loading of code, wait for each other: LLVM and the linker have state that belongs to the process. Kernels
 * are generated in child processes made by fork, so that a fault of the code generator is a message.
 * Callbacks run on the calling thread and must not call this library.
 *
\*===----------------------------------------------------------------------------------------------------===*/
#ifndef INGOT_COMPILER_API_INGOT_H
#define INGOT_COMPILER_API_INGOT_H

#include "runtime/core/ingot_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define INGOT_API __attribute__((visibility("default")))
#else
#define INGOT_API
#endif

/* Equal numbers mean the same in ingot_rt_status. */
typedef enum ingot_status {
  INGOT_OK = 0,
  INGOT_INVALID = 1, /* an argument or an option; the message names it, options as the command line does */
  INGOT_FAILED = 2,  /* a file, or what the model needs; the message names file, tensor or field */
  INGOT_UNSUPPORTED = 3, /* no variant runs on this CPU */
  INGOT_NOT_FOUND = 6
} ingot_status;

/* The compiler's version, as artefacts carry it. */
INGOT_API const char *ingot_version(void);

/*===- Options ------------------------------------------------------------------------------------------===*/

typedef enum ingot_emit {
  INGOT_EMIT_EXECUTABLE = 0, /* needs the link support that is installed with Ingot */
  INGOT_EMIT_OBJECT = 1,     /* the code of one target */
  INGOT_EMIT_PACK = 2        /* .ipk: weights and the objects of all targets */
} ingot_emit;

typedef enum ingot_severity { INGOT_ERROR = 0, INGOT_WARNING = 1, INGOT_REMARK = 2 } ingot_severity;

/* Progress of one piece of long work: `unit` is "bytes" or "variants"; `total` is 0 where it is unknown. */
typedef void (*ingot_progress_fn)(void *user, const char *what, const char *unit, uint64_t done,
                                  uint64_t total);
/* A text; not terminated. */
typedef void (*ingot_text_fn)(void *user, const char *text, uint64_t bytes);
/* "where: what", further lines are notes; zero-terminated. Errors are also
 * the message of the failed call. */
typedef void (*ingot_diagnostic_fn)(void *user, int32_t severity, const char *text);

/* One compile. NULL and 0 stand for the default. */
typedef struct ingot_compile_options {
  uint32_t struct_size;
  int32_t emit;            /* an ingot_emit, of ingot_compile_file */
  const char *target;      /* "native" (default), "all", "ref", or a list like "avx2,vnni" */
  const char *kv;          /* "f16" (default), "bf16", "f32", "int8" */
  const char *config_file; /* of a directory; default "config.json" */
  const char *support_dir; /* what linking executables needs; default: `ingot` beside this library, or
                              ../lib/ingot beside the program it is linked into */
  int64_t context;         /* positions per sequence; default: the model's own, at most 4096 */
  int64_t max_seqs;        /* sequences that run together; default 32 */
  int64_t chunk;           /* prompt tokens per step; default 512 */
  uint32_t threads;        /* variants compiled at the same time; default 2 */
  uint32_t n_print_ir_after;
  const char *stop_after; /* a phase whose text is the output of ingot_compile_file */
  const char *start_from; /* a phase to resume from, with ir_file */
  const char *ir_file;
  const char *const *print_ir_after; /* passes after which on_ir gets the IR; "all": every pass */

  ingot_progress_fn on_progress;
  ingot_text_fn on_ir;
  ingot_text_fn on_text; /* the text of stop_after where no output is named */
  ingot_diagnostic_fn on_diagnostic;
  void *user;

  const char *timings_file; /* JSON with the times of phases, passes and kernels; default: none */
  double kernel_seconds;    /* a kernel that takes longer to compile is a warning; default 20 */
  uint32_t verbose;         /* 1: a remark names the slowest kernels */
  uint32_t reserved0;
  const char *numerics;  /* "exact" (default) or "fast": docs/numerics.md says what it rounds */
  const char *tune_file; /* schedules that `ingot tune` found; default: none, a cost model chooses */
} ingot_compile_options;

INGOT_API void ingot_compile_options_init(ingot_compile_options *options);

/*===- To files -----------------------------------------------------------------------------------------===*/

/* Compiles `model` (a .gguf file, also the first of a split, or a directory) to `output`. Nothing is left
 * under that name unless all went well. `output` may be NULL with stop_after: the text goes to on_text.
 * `options` may be NULL. */
INGOT_API int32_t ingot_compile_file(const char *model, const char *output,
                                     const ingot_compile_options *options, char *message,
                                     size_t message_size);

/* META of a model, a pack or a compiled executable: JSON with architecture, tensors, kernels, why they were
 * chosen, and the memory plan. A model file is planned for it, not packed. `give` is called once, on success.
 */
INGOT_API int32_t ingot_inspect(const char *model, const ingot_compile_options *options, ingot_text_fn give,
                                void *user, char *message, size_t message_size);

/*===- In this process ----------------------------------------------------------------------------------===*/

/* Code in memory, with the pack that it reads. */
typedef struct ingot_jit ingot_jit;

/* Everything lives as long as the handle. */
typedef struct ingot_jit_info {
  uint32_t struct_size;
  uint32_t n_variants;
  const ingot_rt_variant *variants; /* for ingot_rt_model_options */
  const void *pack;                 /* for ingot_rt_model_open_memory; NULL where the pack is a file */
  uint64_t pack_bytes;
  const char *pack_path; /* for ingot_rt_model_open; NULL where the pack is in memory */
} ingot_jit_info;

/* Compiles `model` for this process: the same object bytes that ingot_compile_file writes. emit, support_dir
 * and the fields about phases do not apply. `options` may be NULL. On success *jit is to be destroyed; on
 * failure it is NULL. */
INGOT_API int32_t ingot_jit_compile(const char *model, const ingot_compile_options *options, ingot_jit **jit,
                                    char *message, size_t message_size);
/* Loads the code of a .ipk pack: of `isa`, or where that is NULL of the best variant that runs here. */
INGOT_API int32_t ingot_jit_load(const char *pack, const char *isa, ingot_jit **jit, char *message,
                                 size_t message_size);
/* Models opened from it, and their engines, must be gone. NULL is ignored. */
INGOT_API void ingot_jit_destroy(ingot_jit *jit);
INGOT_API int32_t ingot_jit_get_info(const ingot_jit *jit, ingot_jit_info *info);
/* The object bytes of variant `index`. INGOT_NOT_FOUND where there are fewer. */
INGOT_API int32_t ingot_jit_object(const ingot_jit *jit, uint32_t index, const void **bytes, uint64_t *size);
/* Opens the model for libingot_runtime. Of `options`, which may be NULL, the variants are replaced; a pack in
 * memory is used where it is. Returns an ingot_rt_status. The handle outlives the model and its engines. */
INGOT_API int32_t ingot_jit_open_model(const ingot_jit *jit, const ingot_rt_model_options *options,
                                       ingot_rt_model **model, char *message, size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
