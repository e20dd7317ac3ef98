#include "python/scope/models.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "builtin/models.h"
#include "figure/terminal/columns.h"
#include "insight/statistics/induction.h"
#include "insight/statistics/words_attended.h"
#include "insight/tables/words.h"
#include "model/run/classify.h"
#include "model/run/prepare.h"
#include "python/scope/names.h"
#include "python/scope/recordings.h"
#include "python/scope/work.h"

namespace attn::python {

const nn::Matrix& Model::induction(ThreadPool& pool) {
  std::call_once(asked_, [&] { induction_ = insight::induction_scores(reader, pool); });
  return induction_;
}

nb::str word_of(const Model& model, std::int32_t id) {
  return text_of(figure::on_one_line(model.reader.tokenizer.tokens(std::vector{id})[0].text));
}

namespace {

using namespace nb::literals;

std::shared_ptr<Model> load(const std::string& name) {
  return unlocked([&](ThreadPool& /*pool*/) {
    return std::make_shared<Model>(model::Reader::load(builtin::folder_of(name)), name);
  });
}

nb::object or_none(std::int64_t number) { return number > 0 ? nb::object(nb::int_(number)) : nb::none(); }

nb::dict facts_of(const Model& m) {
  const model::Facts& facts = m.reader.model->facts();
  nb::dict out;
  out["type"] = text_of(facts.type);
  out["form"] = text_of(name_of(facts.form));
  out["layers"] = facts.layers;
  out["heads"] = facts.heads.heads;
  out["decoder_layers"] = facts.decoder_layers;
  out["decoder_heads"] = facts.form == model::Form::encoder_decoder ? facts.decoder_heads.heads : 0;
  out["width"] = facts.width;
  out["vocabulary"] = facts.vocabulary;
  out["max_tokens"] = or_none(facts.max_tokens);
  out["parameters"] = facts.parameters;
  nb::list labels;
  for (const std::string& label : facts.labels) labels.append(text_of(label));
  out["labels"] = labels;
  return out;
}

nb::tuple tuple_of(const text::Token& token) {
  return nb::make_tuple(text_of(token.text), token.id, text_of(token.piece), token.special,
                        token.word ? nb::object(nb::int_(*token.word)) : nb::none(),
                        nb::make_tuple(token.span.from, token.span.to), token.sequence);
}

using Maybe = std::optional<std::string>;

text::Encoding encode(const Model& m, const std::string& text, const Maybe& pair, bool bare) {
  const text::Tokenizer& tokenizer = m.reader.tokenizer;
  return pair ? tokenizer.encode(text, *pair, bare) : tokenizer.encode(text, bare);
}

nb::list tokenize(const Model& m, const std::string& text, const Maybe& pair, bool bare) {
  nb::list out;
  for (const text::Token& token : encode(m, text, pair, bare).tokens) out.append(tuple_of(token));
  return out;
}

nn::Matrix copy_of(const nn::Matrix& table) {
  nn::Matrix copy(table.rows(), table.columns());
  std::copy_n(table.data(), table.rows() * table.columns(), copy.data());
  return copy;
}

// keep: (values, inputs, hidden)
Recording record(Model& m, const std::string& text, const Maybe& pair, const Maybe& target, const nb::tuple& keep) {
  const model::Keep kept{.values = nb::cast<bool>(keep[0]),
                         .inputs = nb::cast<bool>(keep[1]),
                         .value_norms = true,
                         .hidden = nb::cast<bool>(keep[2])};
  return unlocked([&](ThreadPool& pool) {
    const model::Text ready = prepared({.text = text, .pair = pair, .target = target}, m.reader, pool);
    model::Recording recorded = model::read(m.reader, ready, kept, pool);
    check_not_empty(recorded);
    recorded.origin.model = m.name;
    recorded.induction = copy_of(m.induction(pool));
    std::string name = recorded.origin.short_name();
    return Recording{std::make_shared<insight::RecordedTables>(std::move(recorded)), std::move(name)};
  });
}

// [(index of the token, [(word, id, probability)])] per gap, and the tokens.
nb::tuple fill(const Model& m, const std::string& text, std::int64_t top) {
  const model::Filled filled = unlocked([&](ThreadPool& pool) { return model::fill(m.reader, text, top, pool); });
  nb::list tokens, gaps;
  for (const text::Token& token : filled.tokens) tokens.append(text_of(token.text));
  for (const model::Filled::Gap& gap : filled.gaps) {
    nb::list words;
    for (const auto& [id, probability] : gap.choices) words.append(nb::make_tuple(word_of(m, id), id, probability));
    gaps.append(nb::make_tuple(gap.token, words));
  }
  return nb::make_tuple(tokens, gaps);
}

// The attention of the first token in a layer, of one head or the mean over heads: [(word, weight, span, special)].
nb::list words_seen(model::Recording recorded, std::int64_t layer, std::optional<std::int64_t> head) {
  const auto words = insight::merged_words(std::make_shared<insight::RecordedTables>(std::move(recorded)));
  std::vector<insight::HeadId> heads = words->heads();
  std::erase_if(heads, [&](const insight::HeadId& name) {
    return name.kind != insight::Kind::self || name.layer != layer || (head && name.head != *head);
  });
  const auto weights = unlocked([&](ThreadPool& pool) { return insight::mean_row(*words, heads, 0, pool); });
  const std::vector<text::Token>& keys = words->keys(insight::Kind::self);
  nb::list out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const nb::object span =
        keys[i].special ? nb::none() : nb::object(nb::make_tuple(keys[i].span.from, keys[i].span.to));
    out.append(nb::make_tuple(text_of(keys[i].text), weights[i], span, keys[i].special));
  }
  return out;
}

// Returns [(label, probability, logit)], the likeliest first; words_seen(); the number of tokens of the text, and how
// many of them the model read: a long text is cut. where: (layer, head or None).
nb::tuple classify(const Model& m, const std::string& text, const Maybe& pair, const nb::tuple& where) {
  const model::Facts& facts = m.reader.model->facts();
  model::Recording recorded;
  const nn::Matrix logits = unlocked([&](ThreadPool& pool) {
    model::check_labels(facts);
    const model::Text given{.text = text, .pair = pair, .target = {}, .target_ids = {}, .cut = true};
    recorded = model::read(m.reader, given, {}, pool);
    check_not_empty(recorded);
    return model::classify(m.reader, recorded, pool);
  });
  nb::list scores;
  for (const auto& [id, probability] :
       model::label_choices(facts, {logits.data(), static_cast<std::size_t>(logits.columns())}))
    scores.append(nb::make_tuple(text_of(facts.labels[static_cast<std::size_t>(id)]), probability, logits.data()[id]));
  const std::int64_t read = std::ssize(recorded.tokens);
  const std::int64_t whole = read == facts.max_tokens ? std::ssize(encode(m, text, pair, false).tokens) : read;
  nb::list words = words_seen(std::move(recorded), nb::cast<std::int64_t>(where[0]),
                              nb::cast<std::optional<std::int64_t>>(where[1]));
  return nb::make_tuple(scores, words, whole, read);
}

// how: (tokens, temperature, top_k, top_p, seed). on_text is called with each piece of text that is complete; may be
// None.
nb::dict generate(const Model& m, const std::string& prompt, const nb::tuple& how, const nb::object& on_text) {
  const model::Generation generation{.tokens = nb::cast<std::int64_t>(how[0]),
                                     .sampling = {.temperature = nb::cast<double>(how[1]),
                                                  .top_k = nb::cast<std::int64_t>(how[2]),
                                                  .top_p = nb::cast<double>(how[3]),
                                                  .seed = nb::cast<std::uint64_t>(how[4])}};
  static_cast<void>(model::Sampler(generation.sampling));  // throws for invalid options before anything is computed
  const std::vector<std::int32_t> ids = model::prompt_ids(m.reader, prompt);
  const bool continues = m.reader.model->facts().form == model::Form::decoder;
  text::TextStream stream(m.reader.tokenizer);
  std::string said;
  for (const std::int32_t id : continues ? ids : std::vector<std::int32_t>{}) said += stream.add(id);
  const auto say = [&](const std::string& piece) {
    said += piece;
    if (piece.empty() || on_text.is_none()) return;
    const nb::gil_scoped_acquire locked;
    on_text(text_of(piece));
  };
  std::vector<std::int32_t> fresh;
  unlocked([&](ThreadPool& pool) {
    fresh = model::generate(*m.reader.model, ids, generation, {.pool = pool}, [&](std::int32_t id) {
      check_signals();
      say(stream.add(id));
      return true;
    });
    say(stream.finish());
  });
  nb::dict out;
  out["prompt"] = text_of(prompt);
  out["text"] = text_of(said);
  out["ids"] = nb::cast(fresh);
  out["prompt_ids"] = nb::cast(ids);
  return out;
}

nb::list built_in() {
  nb::list names;
  for (const base::BuiltInFolder& folder : builtin::models()) names.append(text_of(folder.name));
  return names;
}

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<Model>(m, "Model")
      .def_ro("name", &Model::name)
      .def("facts", &facts_of)
      .def("tokenize", &tokenize, "text"_a, "pair"_a.none(), "bare"_a)
      .def("record", &record, "text"_a, "pair"_a.none(), "target"_a.none(), "keep"_a)
      .def("fill", &fill)
      .def("classify", &classify, "text"_a, "pair"_a.none(), "where"_a)
      .def("generate", &generate, "prompt"_a, "how"_a, "on_text"_a.none());
  m.def("load", &load);
  m.def("built_in", &built_in);
}

}  // namespace attn::python
