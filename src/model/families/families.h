// model/families/families.h - the model families, one file each.
//
// facts() reads config.json alone and throws attn::Error for a variant that the family does not support. make() moves
// the weights into the model, which reads them from the mapped file: embeddings for as long as it lives, matrices until
// it packs them. `weights` is empty afterwards. The model's facts() add what only the weights tell: parameters, bytes,
// has_logits and has_pooler.
#pragma once

#include <memory>

#include "model/files/config.h"
#include "model/files/weights.h"
#include "model/run/model.h"

namespace attn::model {

// BERT, DistilBERT and RoBERTa; they differ in tensor names and positions.
Facts bert_facts(const Config& config);
std::unique_ptr<Model> make_bert(const Config& config, Weights& weights);

Facts gpt2_facts(const Config& config);
std::unique_ptr<Model> make_gpt2(const Config& config, Weights& weights);

// T5 1.0, 1.1 and mT5.
Facts t5_facts(const Config& config);
std::unique_ptr<Model> make_t5(const Config& config, Weights& weights);

Facts bart_facts(const Config& config);
std::unique_ptr<Model> make_bart(const Config& config, Weights& weights);

// Llama, Mistral and Qwen2.
Facts llama_facts(const Config& config);
std::unique_ptr<Model> make_llama(const Config& config, Weights& weights);

}  // namespace attn::model
