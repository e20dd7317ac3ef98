// model/families/families.h - the families of models, a file each.
//
// facts() reads config.json alone, and throws attn::Error for what the family cannot be. make() takes the weights into
// the model, which reads them in the mapped file: embeddings for as long as it lives, matrices until it pays to pack
// them. What is left in `weights` afterwards is empty. The model's facts() say what the weights add: parameters,
// bytes, has_logits and has_pooler.
#pragma once

#include <memory>

#include "model/files/config.h"
#include "model/files/weights.h"
#include "model/run/model.h"

namespace attn::model {

// BERT, and DistilBERT and RoBERTa, which differ in names and positions.
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
