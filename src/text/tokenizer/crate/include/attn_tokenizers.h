/* attn_tokenizers.h - Hugging Face's tokenizers crate, as C sees it.
 *
 * Strings are UTF-8, passed as pointer and length, without a terminating zero. Nothing is thrown or printed: a
 * function that can fail returns null (or false) and, through its last argument, a message that the caller frees.
 * Any number of threads may use one tokenizer. */
#pragma once

/* NOLINTBEGIN(modernize-use-using): C */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls `handler` where an allocation fails, for programs that want to end with a message of their own. If it returns,
 * or without a handler, the library prints a line and aborts. */
void attn_on_no_memory(void (*handler)(void));

typedef struct AttnTokenizer AttnTokenizer;
typedef struct AttnTokens AttnTokens;
typedef struct AttnTrainer AttnTrainer;

/* Borrowed for the call. data == null: no text. */
typedef struct AttnSlice {
  const char* data;
  size_t size;
} AttnSlice;

/* Owned by the caller, who frees it with attn_text_free. data == null: no text. */
typedef struct AttnText {
  char* data;
  size_t size;
} AttnText;

/* Borrowed from an AttnTokens: `size` entries each. */
typedef struct AttnTokensView {
  size_t size;
  const uint32_t* ids;
  const uint32_t* types;
  const uint64_t* spans;      /* 2 * size: code points from, to */
  const int64_t* words;       /* -1: none */
  const uint8_t* special;     /* added by the tokenizer; from attn_tokenizer_tokens: special in the vocabulary */
  const char* pieces;         /* as in the vocabulary, concatenated */
  const uint64_t* piece_ends; /* where in `pieces` each one ends */
} AttnTokensView;

/* Parses the text of a tokenizer.json. Turns its padding and truncation off. */
AttnTokenizer* attn_tokenizer_new(AttnSlice json, AttnText* error);
void attn_tokenizer_free(AttnTokenizer* tokenizer);

/* {"decoder": ..., "pre_tokenizer": ...} of the tokenizer.json, as the crate parsed them. */
AttnText attn_tokenizer_parts(const AttnTokenizer* tokenizer);
/* Size of the vocabulary, added tokens included. */
size_t attn_tokenizer_size(const AttnTokenizer* tokenizer);
/* -1: no such piece. */
int64_t attn_tokenizer_id(const AttnTokenizer* tokenizer, AttnSlice piece);

/* pair without data: a single text. */
AttnTokens* attn_tokenizer_encode(const AttnTokenizer* tokenizer, AttnSlice text, AttnSlice pair, bool add_special,
                                  AttnText* error);
/* The tokens for ids. Fills only ids, special and pieces. An unknown id has an empty piece. */
AttnTokens* attn_tokenizer_tokens(const AttnTokenizer* tokenizer, const uint32_t* ids, size_t size, AttnText* error);
void attn_tokens_view(const AttnTokens* tokens, AttnTokensView* view);
void attn_tokens_free(AttnTokens* tokens);

bool attn_tokenizer_decode(const AttnTokenizer* tokenizer, const uint32_t* ids, size_t size, bool skip_special,
                           AttnText* text_or_error);
void attn_text_free(AttnText text);

/* Learns the vocabulary for a tokenizer.json with an empty model (WordPiece, WordLevel, or byte-level BPE); its added
 * tokens become the first pieces. A trainer is not thread-safe. */
AttnTrainer* attn_trainer_new(AttnSlice plan, AttnText* error);
bool attn_trainer_add(AttnTrainer* trainer, AttnSlice text, AttnText* error);
/* Learns at most `vocabulary` pieces: fewer if the texts yield fewer, more if added tokens and bytes alone are more.
 * Letters, words and merges must occur `least_count` times. Writes the tokenizer.json and returns the number of its
 * pieces, or -1 on error. The same texts give the same bytes. */
int64_t attn_trainer_finish(const AttnTrainer* trainer, size_t vocabulary, uint64_t least_count,
                            AttnText* json_or_error);
void attn_trainer_free(AttnTrainer* trainer);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using) */
