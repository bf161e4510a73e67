/* clang-format off */
/*===- ingot_pack.h - the weight pack (.ipk) and the trailer of a standalone executable -----------------===*\
 *
 * What the packager writes and the runtime reads. C, fixed-width types, little-endian, no pointers. Hashes are
 * XXH64 with seed 0. Bytes between sections are zero. Offsets count from the first byte of the pack header.
 *
 *   [header][section table][sections...]
 *
 * A `.ipk` file is one pack and nothing else: its size equals `pack_bytes`. A standalone executable is
 *
 *   [ELF image][zeros][pack][ingot_pack_trailer_v1]
 *
 * with the pack at a multiple of 4096 of the file, so that the weight section can be mapped. Readers find the
 * trailer in the last 64 bytes of /proc/self/exe.
 *
 * A reader checks, in this order: magic, version, header hash, sizes against the file, table hash, each section
 * (kind, name, range, alignment, no overlap), then the hashes of all sections but the weights. The weights are
 * hashed on request only; the param table then says which tensor is damaged.
 *
\*===----------------------------------------------------------------------------------------------------===*/
#ifndef INGOT_RUNTIME_ABI_INGOT_PACK_H
#define INGOT_RUNTIME_ABI_INGOT_PACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Eight bytes each, no terminator. */
#define INGOT_PACK_MAGIC "INGOTPK\n"
#define INGOT_PACK_TRAILER_MAGIC "INGOTEX\n"
#define INGOT_PACK_VERSION 2u
/* Alignment of the weight section in the pack, and of the pack in an executable. */
#define INGOT_PACK_ALIGN 4096u
/* Alignment of the weight section where INGOT_PACK_HUGE is set, in the pack; an executable then aligns the pack
 * to the same. */
#define INGOT_PACK_ALIGN_HUGE 2097152u
/* All other sections and each param begin at a multiple of this. */
#define INGOT_PACK_SECTION_ALIGN 64u
#define INGOT_PACK_MAX_SECTIONS 64u
#define INGOT_PACK_NAME_BYTES 32

/* Header flags. */
enum { INGOT_PACK_HUGE = 1 };

/* Section kinds. META, PARAMS and WEIGHTS occur exactly once, TOKENIZER at most once, OBJECT once per variant. */
enum {
  /* UTF-8 JSON object, see below. Name: empty. */
  INGOT_PACK_META = 1,
  /* The blob of ingot_tok.h. Name: empty. */
  INGOT_PACK_TOKENIZER = 2,
  /* ingot_pack_params_v1, its entries, then zero-terminated strings. Name: empty. */
  INGOT_PACK_PARAMS = 3,
  /* The packed weight bytes that ingot_launch_v1.weight counts from. Name: empty. */
  INGOT_PACK_WEIGHTS = 4,
  /* The relocatable object of one variant, for the JIT of a pack. Name: the isa, as in ingot_module_v1.        */
  INGOT_PACK_OBJECT = 5
};

typedef struct ingot_pack_header_v1 {
  uint8_t magic[8];
  uint32_t version;
  uint32_t header_bytes;  /* sizeof(ingot_pack_header_v1) = 96                                                 */
  uint64_t pack_bytes;    /* header to the end of the last section                                             */
  uint64_t table_offset;  /* 64-aligned                                                                        */
  uint32_t n_sections;    /* 1 .. INGOT_PACK_MAX_SECTIONS                                                      */
  uint32_t entry_bytes;   /* sizeof(ingot_pack_section_v1)                                                     */
  uint64_t table_hash;    /* of n_sections * entry_bytes                                                       */
  uint64_t weight_hash;   /* equals ingot_module_v1.weight_hash; the definition is at ingot_pack_param_v1      */
  uint64_t weight_bytes;  /* equals ingot_module_v1.weight_bytes and the bytes of the weight section           */
  uint32_t flags;
  uint32_t reserved0;
  uint64_t reserved1[2];
  uint64_t header_hash;   /* of the bytes before this field                                                    */
} ingot_pack_header_v1;

typedef struct ingot_pack_section_v1 {
  uint32_t kind;
  uint32_t flags;                   /* 0                                                                       */
  char name[INGOT_PACK_NAME_BYTES]; /* zero-padded, the last byte is zero                                      */
  uint64_t offset;
  uint64_t bytes;
  uint64_t hash;
} ingot_pack_section_v1;

/* Start of the PARAMS section. String offsets count from the start of the section. */
typedef struct ingot_pack_params_v1 {
  uint32_t count;
  uint32_t entry_bytes; /* sizeof(ingot_pack_param_v1)                                                         */
  uint64_t reserved0;
} ingot_pack_params_v1;

/* One packed tensor, in ascending order of offset; same order and values as ingot_module_v1.params.
 *
 * weight_hash is XXH64 over the concatenation, for every param in this order, of
 *   name, one zero byte, scheme, one zero byte, layout, one zero byte,
 *   rows, cols, offset, bytes as 64-bit little-endian words. */
typedef struct ingot_pack_param_v1 {
  uint32_t name;
  uint32_t scheme;
  uint32_t layout;
  uint32_t reserved0;
  uint64_t rows;
  uint64_t cols;
  uint64_t offset; /* in the weight section                                                                    */
  uint64_t bytes;
  uint64_t hash;   /* of the packed bytes                                                                      */
  uint64_t reserved1;
} ingot_pack_param_v1;

/* The last 64 bytes of a standalone executable. */
typedef struct ingot_pack_trailer_v1 {
  uint8_t magic[8];
  uint32_t version;
  uint32_t trailer_bytes; /* 64                                                                                */
  uint64_t pack_offset;   /* from the start of the file                                                        */
  uint64_t pack_bytes;
  uint64_t header_hash;   /* the field of the same name in the pack's header                                   */
  uint64_t reserved0[2];
  uint64_t trailer_hash;  /* of the bytes before this field                                                    */
} ingot_pack_trailer_v1;

/* META. An object whose members below are read by the runtime; more members may follow, which `info`, `inspect`
 * and `explain` print.
 *   "name", "arch", "source"    strings: display name, architecture, file name the model came from
 *   "build"                     string: compiler version and options
 *   "vocab", "hidden", "layers", "context"   integers; vocab counts the rows of the embedding
 *   "generation"                object: "eos_ids" array of token ids that end an answer; "bos_id" id or -1;
 *                               optional defaults "temperature", "top_k", "top_p", "min_p", "repetition_penalty"
 *   "chat_template"             string, or absent where the model has none
 *   "bos_token", "eos_token"    strings as the template sees them, or absent
 *   "plan"                      object: "weight_bytes", "kv_token_bytes" (all layers, one token), "kv_page_bytes"
 *                               (all layers, one page), "arena_bytes", "private_bytes", "scratch_bytes",
 *                               "max_seqs", "chunk", "tokenizer_bytes"
 *   "isas"                      array of the variants carried
 *   "explain", "tensors", "numerics"         for the printing commands only
 */

#ifdef __cplusplus
}
#endif
#endif
