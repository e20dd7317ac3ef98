// course/compute/model_look.h - runs a model over a text for a lesson, and shows its attention.
#pragma once

#include <string>
#include <vector>

#include "course/lesson_output.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/recording.h"

namespace attn::course {

// Loads a built-in model, a folder, or a model in the hub's cache, as all commands do. Throws attn::Error.
model::Reader open_model(const std::string& name);

// The last part of a path: "bert-base-uncased".
std::string short_name(const model::Reader& reader);

std::vector<std::string> names_of(const std::vector<text::Token>& tokens);
std::string joined(const std::vector<std::string>& words, const std::string& between = " ");

// The weights of a head, with the names of queries and keys. Throws std::invalid_argument if there is no such head.
LessonArray table_of(const insight::AttentionTables& tables, const insight::HeadId& head, ThreadPool& pool);
// The weights of all heads of a layer, [H, N, M]; of all layers, [L, H, N, M].
LessonArray layer_tables(const insight::AttentionTables& tables, insight::Kind kind, std::int64_t layer,
                         ThreadPool& pool);
LessonArray all_tables(const insight::AttentionTables& tables, insight::Kind kind, ThreadPool& pool);

// Tables [H, N, M] side by side, in one scale of blues from 0 to 1.
figure::Grid blue_grid(const LessonArray& arrays, std::string title);
// Tables [H, N, M] as lines between queries and keys.
figure::HeadView lines_of(const LessonArray& arrays, std::string title);

// Hidden states, one row per token.
LessonArray hidden_of(const nn::Matrix& hidden, const std::vector<text::Token>& tokens);

}  // namespace attn::course
