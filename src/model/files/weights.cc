#include "model/files/weights.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "attn/error.h"
#include "base/edit_distance.h"
#include "base/one_line.h"
#include "model/files/config.h"
#include "nn/infer/embedding.h"

namespace attn::model {

namespace {

namespace fs = std::filesystem;

constexpr const char* kOneFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// The class that config.json names; converting with it keeps the model's head, which AutoModel would drop.
std::string class_of(const base::Folder& folder) {
  std::string name = "AutoModel";
  try {
    const auto named = Config::read(folder, "config.json").texts({"architectures"});
    if (!named.empty()) name = named.front();
  } catch (const Error&) {  // report the problem with the weights instead
    return "AutoModel";
  }
  for (const std::string_view other : {"TF", "Flax"})
    if (name.starts_with(other)) name.erase(0, other.size());
  const bool plain = std::ranges::all_of(
      name, [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  return plain && !name.empty() ? name : "AutoModel";
}

// Throws. If the weights are in a format that we do not read, the message gives the command that converts them;
// otherwise it names the files we looked for.
[[noreturn]] void no_weights(const base::Folder& folder) {
  struct Other {
    const char *file, *extra, *needs;
  };
  constexpr std::array<Other, 5> kOthers = {
      {{"pytorch_model.bin", "", "transformers and torch"},
       {"pytorch_model.bin.index.json", "", "transformers and torch"},
       {"tf_model.h5", ", from_tf=True", "transformers 4, torch and tensorflow"},
       {"tf_model.h5.index.json", ", from_tf=True", "transformers 4, torch and tensorflow"},
       {"flax_model.msgpack", ", from_flax=True", "transformers 4, torch and flax"}}};
  for (const Other& other : kOthers) {
    if (!folder.has(other.file)) continue;
    const std::string name = class_of(folder);
    throw Error(folder.shown(), std::string("has its weights only as ") + other.file +
                                    "; safetensors is needed. To convert them, run this in that folder (requires " +
                                    other.needs + "): python -c \"from transformers import " + name +
                                    " as M; M.from_pretrained('.'" + other.extra +
                                    ").save_pretrained('.', safe_serialization=True)\"" +
                                    (name == "AutoModel" ? "; AutoModelForMaskedLM, AutoModelForCausalLM or "
                                                           "AutoModelForSeq2SeqLM instead keeps a language-model head"
                                                         : ""));
  }
  throw Error(folder.shown(), std::string("has no weights: neither ") + kOneFile + " nor " + kIndex + " exists");
}

// Whether the name stays inside the folder.
bool stays_inside(const std::string& name) {
  const fs::path path(name);
  if (name.empty() || path.is_absolute() || name.find('\0') != std::string::npos) return false;
  return std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

// Up to three of the most similar names, for a message.
template <typename Places>
std::string nearest(const Places& places, std::string_view wanted) {
  constexpr std::size_t kLongest = 200;  // longer is not a tensor name, and the cost grows with the square
  wanted = wanted.substr(0, kLongest);
  std::vector<std::pair<std::size_t, std::string_view>> all;
  for (const auto& [name, place] : places)
    if (name.size() <= kLongest) all.emplace_back(base::edit_distance(wanted, name), name);
  const std::size_t count = std::min<std::size_t>(3, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + base::in_quotes(all[i].second);
  return text.empty() ? "there are no tensors" : "the nearest are " + text;
}

std::optional<Type> engine_type(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::f32:
      return Type::float32;
    case Dtype::f16:
      return Type::float16;
    case Dtype::bf16:
      return Type::bfloat16;
    default:
      return std::nullopt;
  }
}

bool is_floating(Dtype dtype) noexcept {
  return engine_type(dtype) || dtype == Dtype::f64 || dtype == Dtype::f8_e4m3 || dtype == Dtype::f8_e5m2;
}

// -1 in shape: any size. The caller loads the tensor.
template <std::size_t Rank>
AnyView<Rank> view_of(const SafeTensors& file, const StoredTensor& tensor, const std::string& name, Shape<Rank> shape) {
  const std::optional<Type> type = engine_type(tensor.dtype);
  if (!type)
    throw Error(file.path(),
                "tensor " + base::in_quotes(name) + " is " + std::string(name_of(tensor.dtype)) +
                    "; F32, F16 or BF16 is needed",
                tensor.offset);
  const auto fits = [](std::int64_t wanted, std::int64_t is) { return wanted < 0 || wanted == is; };
  if (!std::ranges::equal(shape, tensor.shape, fits))
    throw Error(
        file.path(),
        "tensor " + base::in_quotes(name) + " is " + shape_text(tensor.shape) + "; " + shape_text(shape) + " is needed",
        tensor.offset);
  std::ranges::copy(tensor.shape, shape.begin());
  return {nullptr, *type, shape, dense_strides(shape)};
}

}  // namespace

Weights::Weights(const base::Folder& folder) : folder_(folder.shown()) {
  std::error_code ignored;
  if (!folder.is_folder())
    throw Error(folder_,
                fs::exists(folder.name(), ignored) ? "is not a folder; a model's folder is needed" : "no such folder");
  if (folder.has(kOneFile)) {
    const auto& file = files_.emplace_back(std::make_unique<SafeTensors>(SafeTensors::open(folder, kOneFile)));
    for (const auto& [name, tensor] : file->tensors()) places_.emplace(name, Place{file.get(), &tensor});
  } else if (folder.has(kIndex)) {
    open_shards(folder);
  } else {
    no_weights(folder);
  }
}

void Weights::open_shards(const base::Folder& folder) {
  const Config index = Config::read(folder, kIndex);
  const std::optional<Config> map = index.child({"weight_map"});
  if (!map) throw Error(index.path(), "weight_map is missing");
  std::map<std::string, const SafeTensors*, std::less<>> shards;
  for (const std::string& name : map->names()) {
    const std::string shard = map->text({name.c_str()});
    const SafeTensors*& file = shards[shard];
    if (file == nullptr) {
      if (!stays_inside(shard))
        throw Error(index.path(), "tensor " + base::in_quotes(name) + " is mapped to " + base::in_quotes(shard) +
                                      "; a file in the same folder is needed");
      if (!folder.has(shard))
        throw Error(index.path(), "tensor " + base::in_quotes(name) + " is mapped to " + base::in_quotes(shard) +
                                      ", which does not exist");
      file = files_.emplace_back(std::make_unique<SafeTensors>(SafeTensors::open(folder, shard))).get();
    }
    const auto at = file->tensors().find(name);
    if (at == file->tensors().end())
      throw Error(file->path(),
                  "has no tensor " + base::in_quotes(name) + ", although " + kIndex + " maps it to this file");
    places_.emplace(name, Place{file, &at->second});
  }
}

bool Weights::has(std::string_view name) const { return find(name) != nullptr; }

const Weights::Place* Weights::find(std::string_view name) const {
  auto at = places_.find(prefix_ + std::string(name));
  if (at == places_.end()) at = places_.find(name);
  return at == places_.end() ? nullptr : &at->second;
}

const Weights::Place& Weights::need(std::string_view name) const {
  if (const Place* place = find(name)) return *place;
  const std::string whole = prefix_ + std::string(name);
  throw Error(folder_, "no tensor " + base::in_quotes(whole) + (prefix_.empty() ? "" : " or " + base::in_quotes(name)) +
                           "; " + nearest(places_, whole));
}

AnyView<1> Weights::vector(std::string_view name, std::int64_t length) const {
  const Place& place = need(name);
  AnyView<1> view = view_of<1>(*place.file, *place.tensor, std::string(name), {length});
  view.data = place.file->load(*place.tensor);
  return view;
}

AnyView<2> Weights::matrix(std::string_view name, std::int64_t rows, std::int64_t columns) const {
  const Place& place = need(name);
  AnyView<2> view = view_of<2>(*place.file, *place.tensor, std::string(name), {rows, columns});
  view.data = place.file->load(*place.tensor);
  return view;
}

AnyView<2> Weights::until_packed(std::string_view name, std::int64_t rows, std::int64_t columns) const {
  const Place& place = need(name);
  AnyView<2> view = view_of<2>(*place.file, *place.tensor, std::string(name), {rows, columns});
  view.data = place.file->load_until_released(*place.tensor);
  return view;
}

std::vector<float> Weights::floats(std::string_view name, std::int64_t length) const {
  return nn::as_floats(vector(name, length));
}

nn::Weight Weights::linear(std::string_view name, std::int64_t in, std::int64_t out) const {
  const std::string bias = std::string(name) + ".bias";
  return {until_packed(std::string(name) + ".weight", out, in), has(bias) ? vector(bias, out) : AnyView<1>{}, false};
}

nn::Weight Weights::conv1d(std::string_view name, std::int64_t in, std::int64_t out) const {
  const std::string bias = std::string(name) + ".bias";
  return {until_packed(std::string(name) + ".weight", in, out), has(bias) ? vector(bias, out) : AnyView<1>{}, true};
}

void Weights::release(const nn::Weight& weight) const noexcept {
  const AnyView<2>& view = weight.matrix;
  if (view.empty() || view.shape[0] == 0 || view.shape[1] == 0) return;
  const auto* first = static_cast<const std::byte*>(view.data);
  for (const auto& [name, place] : places_) {
    const StoredTensor& tensor = *place.tensor;
    if (tensor.data == nullptr || std::less<>()(first, tensor.data) ||
        !std::less<>()(first, tensor.data + tensor.bytes))
      continue;
    // From the first number to the last. Other slices lie between the rows of a slice of columns; their pages are read
    // again if they are still needed.
    StoredTensor part = tensor;
    part.data = first;
    part.bytes =
        ((view.shape[0] - 1) * view.strides[0] + view.shape[1]) * static_cast<std::int64_t>(size_of(view.type));
    part.bytes = std::clamp<std::int64_t>(part.bytes, 0, tensor.data + tensor.bytes - first);
    place.file->release(part, view.shape[0] * view.shape[1] * static_cast<std::int64_t>(size_of(view.type)));
    return;
  }
}

std::int64_t Weights::parameters() const noexcept {
  std::int64_t count = 0;
  for (const auto& [name, place] : places_)
    if (is_floating(place.tensor->dtype)) count += place.tensor->bytes / size_of(place.tensor->dtype);
  return count;
}

std::int64_t Weights::bytes() const noexcept {
  std::int64_t sum = 0;
  for (const auto& file : files_) sum += file->bytes();
  return sum;
}

}  // namespace attn::model
