// model/families.h - the families of models, a file each.
//
// facts() reads config.json alone, and throws attn::Error for what the family cannot be. make() takes the weights into
// the model: packed layers give their pages back, embeddings are read from the mapped file for as long as the model
// lives. What is left in `weights` afterwards is empty. The model's facts() say what the weights add: parameters,
// bytes, has_logits and has_pooler.
#pragma once

#include <memory>

#include "attn/thread_pool.h"
#include "model/config.h"
#include "model/model.h"
#include "model/weights.h"

namespace attn::model {

// BERT, and DistilBERT and RoBERTa, which differ in names and positions.
Facts bert_facts(const Config& config);
std::unique_ptr<Model> make_bert(const Config& config, Weights& weights, ThreadPool& pool);

Facts gpt2_facts(const Config& config);
std::unique_ptr<Model> make_gpt2(const Config& config, Weights& weights, ThreadPool& pool);

// T5 1.0, 1.1 and mT5.
Facts t5_facts(const Config& config);
std::unique_ptr<Model> make_t5(const Config& config, Weights& weights, ThreadPool& pool);

Facts bart_facts(const Config& config);
std::unique_ptr<Model> make_bart(const Config& config, Weights& weights, ThreadPool& pool);

// Llama, Mistral and Qwen2.
Facts llama_facts(const Config& config);
std::unique_ptr<Model> make_llama(const Config& config, Weights& weights, ThreadPool& pool);

}  // namespace attn::model
