/* The binary form of a tokenizer, as an artefact carries it.
 *
 * The importers (compiler/import/tokenizer) write it, runtime/token reads it in place. It is flat and
 * little-endian: a header, then tables at 8-byte aligned offsets. All hash tables are stored ready to use, so
 * that loading is only validation. A reader trusts nothing: every offset, count, id and string range is
 * checked before use, and tables that fail are refused as a whole.
 *
 * Text in the tables is bytes. In a byte-level tokenizer (INGOT_TOK_BYTE_LEVEL) a token holds the raw bytes
 * that it stands for, not the printable code points of the file. A token whose text is not made of such code
 * points alone keeps its literal text and has no INGOT_TOK_LOOKUP flag.
 */
#ifndef INGOT_TOK_H
#define INGOT_TOK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INGOT_TOK_MAGIC 0x4b4f5449u /* "ITOK" */
#define INGOT_TOK_VERSION 1u
#define INGOT_TOK_NONE 0xffffffffu /* an empty hash slot */

/* Caps: a file that claims more is refused. */
#define INGOT_TOK_MAX_VOCAB (1u << 23)
#define INGOT_TOK_MAX_MERGES (1u << 25)
#define INGOT_TOK_MAX_STAGES 256u
#define INGOT_TOK_MAX_TEMPLATE 4096u
#define INGOT_TOK_MAX_BLOB (UINT64_C(1) << 31)

/* How ids are found. */
enum ingot_tok_model {
  INGOT_TOK_MODEL_MERGES = 1, /* BPE by ranked merges */
  INGOT_TOK_MODEL_SCORES = 2, /* SentencePiece BPE: the pair whose joined text has the highest score */
};

/* ingot_tok_header_v1.flags */
enum ingot_tok_flag {
  INGOT_TOK_BYTE_LEVEL = 1 << 0,       /* lookups are on raw bytes */
  INGOT_TOK_BYTE_FALLBACK = 1 << 1,    /* unknown characters become <0xXX> tokens */
  INGOT_TOK_FUSE_UNK = 1 << 2,         /* a run of unknown characters is one unk */
  INGOT_TOK_IGNORE_MERGES = 1 << 3,    /* a word that is a token is that token */
  INGOT_TOK_ADD_SPACE_PREFIX = 1 << 4, /* MODEL_SCORES: a space before the text and after special tokens */
  INGOT_TOK_LONGEST_FIRST = 1 << 5,    /* added tokens: the longest token takes its places first (GGUF);
                                          without it the leftmost-longest match (tokenizer.json) */
};

/* Low three bits of a token's type byte, then flags. */
enum ingot_tok_type {
  INGOT_TOK_NORMAL = 0,
  INGOT_TOK_UNKNOWN = 1,
  INGOT_TOK_CONTROL = 2,
  INGOT_TOK_USER = 3,
  INGOT_TOK_UNUSED = 4,
  INGOT_TOK_BYTE = 5,
  INGOT_TOK_HOLE = 6, /* an id without a token */
  INGOT_TOK_TYPE_MASK = 7,
  INGOT_TOK_LOOKUP = 1 << 3,  /* is in VOCAB_SLOTS */
  INGOT_TOK_SPECIAL = 1 << 4, /* left out when special tokens are skipped */
};

/* ingot_tok_added_v1.flags */
enum ingot_tok_added_flag {
  INGOT_TOK_ADDED_SPECIAL = 1 << 0, /* matches only where special tokens are parsed */
  INGOT_TOK_ADDED_LSTRIP = 1 << 1,
  INGOT_TOK_ADDED_RSTRIP = 1 << 2,
  INGOT_TOK_ADDED_SINGLE_WORD = 1 << 3,
  INGOT_TOK_ADDED_NORMALIZED = 1 << 4, /* matches in the normalized text */
};

/* Tables, in the order of ingot_tok_header_v1.tables. */
enum ingot_tok_table_id {
  INGOT_TOK_T_OFFSETS,     /* u32[vocab + 1], ascending, into BYTES */
  INGOT_TOK_T_BYTES,       /* u8[] */
  INGOT_TOK_T_TYPES,       /* u8[vocab] */
  INGOT_TOK_T_SCORES,      /* f32[vocab] (MODEL_SCORES) or empty */
  INGOT_TOK_T_VOCAB_SLOTS, /* u32[power of two]: token id or NONE; linear probing from ingot_tok_hash_bytes */
  INGOT_TOK_T_MERGES,      /* ingot_tok_merge_v1[]; the index is the rank */
  INGOT_TOK_T_MERGE_SLOTS, /* u32[power of two]: merge index or NONE; linear probing from ingot_tok_hash_pair
                            */
  INGOT_TOK_T_ADDED,       /* ingot_tok_added_v1[], sorted by text */
  INGOT_TOK_T_STRINGS,     /* u8[]: texts of ADDED and of the stages */
  INGOT_TOK_T_NORMALIZERS, /* ingot_tok_stage_v1[] */
  INGOT_TOK_T_PRETOKENIZERS,
  INGOT_TOK_T_DECODERS,
  INGOT_TOK_T_SINGLE, /* i32[]: what add_special makes of one text: a token id, or -1 for the text */
  INGOT_TOK_T_PAIR,   /* i32[]: the same for a pair: -1 the first text, -2 the second */
  INGOT_TOK_T_END,    /* i32[]: ids that end a generation, ascending */
  INGOT_TOK_TABLES
};

typedef struct ingot_tok_table_v1 {
  uint64_t offset; /* from the start of the blob, a multiple of 8 */
  uint64_t count;  /* elements */
} ingot_tok_table_v1;

typedef struct ingot_tok_header_v1 {
  uint32_t magic;
  uint32_t version;
  uint64_t size; /* of the whole blob */
  uint32_t model;
  uint32_t flags;
  uint32_t vocab;
  int32_t bos, eos, unk, pad, eot; /* -1: none */
  ingot_tok_table_v1 tables[INGOT_TOK_TABLES];
} ingot_tok_header_v1;

typedef struct ingot_tok_merge_v1 {
  uint32_t left, right, result; /* token ids */
} ingot_tok_merge_v1;

typedef struct ingot_tok_added_v1 {
  uint32_t id;
  uint32_t flags;
  uint32_t text, text_size; /* into STRINGS, not empty */
} ingot_tok_added_v1;

/* One step of the normalizer, pre-tokenizer or decoder. */
typedef struct ingot_tok_stage_v1 {
  uint32_t kind;      /* ingot_tok_stage_kind */
  uint32_t flags;     /* by kind, see there */
  uint32_t a, a_size; /* first text, into STRINGS */
  uint32_t b, b_size; /* second text */
} ingot_tok_stage_v1;

enum ingot_tok_stage_kind {
  /* normalizers */
  INGOT_TOK_N_NFC = 1,
  INGOT_TOK_N_NFD = 2,
  INGOT_TOK_N_NFKC = 3,
  INGOT_TOK_N_NFKD = 4,
  INGOT_TOK_N_LOWERCASE = 5,
  INGOT_TOK_N_STRIP = 6, /* flags: 1 left, 2 right */
  INGOT_TOK_N_STRIP_ACCENTS = 7,
  INGOT_TOK_N_PREPEND = 8,        /* a: put before a text that is not empty */
  INGOT_TOK_N_REPLACE = 9,        /* a: text, b: its replacement */
  INGOT_TOK_N_REPLACE_REGEX = 10, /* a: expression, b: replacement (literal) */
  INGOT_TOK_N_BYTE_LEVEL = 11,
  /* pre-tokenizers */
  INGOT_TOK_P_BYTE_LEVEL = 32,  /* flags: 1 add a prefix space, 2 split by the GPT-2 expression */
  INGOT_TOK_P_METASPACE = 33,   /* a: replacement character; flags: 3 = scheme mask, 4 split */
  INGOT_TOK_P_SPLIT = 34,       /* a: text; flags: 7 = behavior mask, 8 invert */
  INGOT_TOK_P_SPLIT_REGEX = 35, /* a: expression; flags as P_SPLIT */
  INGOT_TOK_P_DIGITS = 36,      /* flags: 1 each digit alone */
  INGOT_TOK_P_PUNCTUATION = 37, /* flags: 7 = behavior mask */
  INGOT_TOK_P_WHITESPACE_SPLIT = 38,
  INGOT_TOK_P_BERT = 39,
  /* decoders */
  INGOT_TOK_D_BYTE_LEVEL = 64, /* alone in its list: the tokens' bytes are the text */
  INGOT_TOK_D_REPLACE = 65,    /* a: text, b: its replacement, in each token */
  INGOT_TOK_D_BYTE_FALLBACK = 66,
  INGOT_TOK_D_FUSE = 67,
  INGOT_TOK_D_STRIP = 68,     /* a: one character; flags: low 16 bits at the start, high 16 bits at the end */
  INGOT_TOK_D_METASPACE = 69, /* a: replacement character; flags: 3 = scheme mask */
  INGOT_TOK_D_SCORES = 70,    /* alone: U+2581 is a space in normal tokens, byte tokens are bytes */
  INGOT_TOK_D_JOIN_SPACE = 71 /* alone: tokens joined by spaces (tokenizer.json without a decoder) */
};

enum ingot_tok_behavior {
  INGOT_TOK_ISOLATED = 0,
  INGOT_TOK_REMOVED = 1,
  INGOT_TOK_MERGED_WITH_PREVIOUS = 2,
  INGOT_TOK_MERGED_WITH_NEXT = 3,
  INGOT_TOK_CONTIGUOUS = 4
};

enum ingot_tok_prepend {
  INGOT_TOK_PREPEND_NEVER = 0,
  INGOT_TOK_PREPEND_ALWAYS = 1,
  INGOT_TOK_PREPEND_FIRST = 2
};

/* Hash of a token's bytes for VOCAB_SLOTS: eight bytes at a time, multiply and fold. */
static inline uint64_t ingot_tok_hash_bytes(const void *data, size_t size) {
  const unsigned char *p = (const unsigned char *)data;
  uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ ((uint64_t)size * UINT64_C(0xd6e8feb86659fd93));
  while (size) {
    uint64_t w = 0;
    size_t n = size < 8 ? size : 8;
    size_t i;
    for (i = 0; i < n; ++i)
      w |= (uint64_t)p[i] << (8 * i);
    h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
    p += n;
    size -= n;
  }
  h *= UINT64_C(0xc4ceb9fe1a85ec53);
  return h ^ (h >> 29);
}

/* Hash of a pair of ids for MERGE_SLOTS. */
static inline uint64_t ingot_tok_hash_pair(uint32_t left, uint32_t right) {
  uint64_t h = (((uint64_t)left << 32) | right) * UINT64_C(0x9e3779b97f4a7c15);
  h ^= h >> 32;
  h *= UINT64_C(0xd6e8feb86659fd93);
  return h ^ (h >> 32);
}

/* The printable code point that stands for a byte in byte-level vocabularies (GPT-2's table). */
static inline uint32_t ingot_tok_byte_to_cp(uint32_t byte) {
  if (byte <= 0x20)
    return 0x100 + byte;
  if (byte >= 0x7f && byte <= 0xa0)
    return 0x121 + (byte - 0x7f);
  if (byte == 0xad)
    return 0x143;
  return byte;
}

/* The inverse; -1 where the code point stands for no byte. */
static inline int32_t ingot_tok_cp_to_byte(uint32_t cp) {
  if (cp > 0x20 && cp < 0x7f)
    return (int32_t)cp;
  if (cp > 0xa0 && cp <= 0xff && cp != 0xad)
    return (int32_t)cp;
  if (cp >= 0x100 && cp <= 0x120)
    return (int32_t)(cp - 0x100);
  if (cp >= 0x121 && cp <= 0x142)
    return (int32_t)(cp - 0x121 + 0x7f);
  if (cp == 0x143)
    return 0xad;
  return -1;
}

#ifdef __cplusplus
}
#endif

#endif
