// course/compute/model_look.h - what a lesson shows of a model that has read a text.
#pragma once

#include <string>
#include <vector>

#include "course/lesson_output.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/recording.h"

namespace attn::course {

// Built in, a folder, or in the hub's cache: as all commands take models. Throws attn::Error where it is not there.
model::Reader open_model(const std::string& name);

// "bert-base-uncased" of a folder of that name.
std::string short_name(const model::Reader& reader);

std::vector<std::string> names_of(const std::vector<text::Token>& tokens);
std::string joined(const std::vector<std::string>& words, const std::string& between = " ");

// A head's weights with the names of queries and keys. Throws std::invalid_argument where there is no such head.
LessonArray table_of(const insight::AttentionTables& tables, const insight::HeadId& head, ThreadPool& pool);
// Of all heads of a layer, [H, N, M]; of all layers, [L, H, N, M].
LessonArray layer_tables(const insight::AttentionTables& tables, insight::Kind kind, std::int64_t layer,
                         ThreadPool& pool);
LessonArray all_tables(const insight::AttentionTables& tables, insight::Kind kind, ThreadPool& pool);

// Tables [H, N, M] side by side: blue, 0 to 1, the same colours for all.
figure::Grid blue_grid(const LessonArray& arrays, std::string title);
// Lines between queries and keys, of tables [H, N, M].
figure::HeadView lines_of(const LessonArray& arrays, std::string title);

// A model's hidden states, a row a token.
LessonArray hidden_of(const nn::Matrix& hidden, const std::vector<text::Token>& tokens);

}  // namespace attn::course
