/* attn_tokenizers.h - Hugging Face's tokenizers crate, as C sees it.
 *
 * Strings are UTF-8, given by pointer and length, and need no zero at the end. Nothing is thrown, nothing is printed: a
 * function that can fail returns null (or false) and, through its last argument, a message to be freed by the caller.
 * Any number of threads may use one tokenizer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AttnTokenizer AttnTokenizer;
typedef struct AttnTokens AttnTokens;
typedef struct AttnTrainer AttnTrainer;

/* Borrowed for the call. data is null: there is none. */
typedef struct AttnSlice {
  const char* data;
  size_t size;
} AttnSlice;

/* Owned by whoever received it; to be given back to attn_text_free. data is null: there is none. */
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
  const uint8_t* special;     /* put there by the tokenizer; of attn_tokenizer_tokens: known as special */
  const char* pieces;         /* as the vocabulary has them, one after the other */
  const uint64_t* piece_ends; /* where in `pieces` each one ends */
} AttnTokensView;

/* From the text of a tokenizer.json. Its padding and truncation are turned off. */
AttnTokenizer* attn_tokenizer_new(AttnSlice json, AttnText* error);
void attn_tokenizer_free(AttnTokenizer* tokenizer);

/* {"decoder": ..., "pre_tokenizer": ...} of the tokenizer.json, as the crate understood them. */
AttnText attn_tokenizer_parts(const AttnTokenizer* tokenizer);
/* Of the vocabulary, added tokens included. */
size_t attn_tokenizer_size(const AttnTokenizer* tokenizer);
/* -1: no such piece. */
int64_t attn_tokenizer_id(const AttnTokenizer* tokenizer, AttnSlice piece);

/* pair has no data: one text alone. */
AttnTokens* attn_tokenizer_encode(const AttnTokenizer* tokenizer, AttnSlice text, AttnSlice pair, bool add_special,
                                  AttnText* error);
/* The tokens that ids stand for: ids, special and pieces alone are filled. An unknown id has an empty piece. */
AttnTokens* attn_tokenizer_tokens(const AttnTokenizer* tokenizer, const uint32_t* ids, size_t size, AttnText* error);
void attn_tokens_view(const AttnTokens* tokens, AttnTokensView* view);
void attn_tokens_free(AttnTokens* tokens);

bool attn_tokenizer_decode(const AttnTokenizer* tokenizer, const uint32_t* ids, size_t size, bool skip_special,
                           AttnText* text_or_error);
void attn_text_free(AttnText text);

/* Learns the vocabulary of a tokenizer.json whose model has none yet (WordPiece, WordLevel, or BPE of bytes); its added
 * tokens are the first pieces. One thread at a time may use a trainer. */
AttnTrainer* attn_trainer_new(AttnSlice plan, AttnText* error);
bool attn_trainer_add(AttnTrainer* trainer, AttnSlice text, AttnText* error);
/* At most `vocabulary` pieces, fewer if the texts give fewer, more if added tokens and bytes alone are; joins pieces,
 * and takes letters and words, that were seen `least_count` times. Gives the tokenizer.json and returns the number of
 * its pieces; -1: an error. The same texts give the same bytes. */
int64_t attn_trainer_finish(const AttnTrainer* trainer, size_t vocabulary, uint64_t least_count,
                            AttnText* json_or_error);
void attn_trainer_free(AttnTrainer* trainer);

#ifdef __cplusplus
}
#endif
