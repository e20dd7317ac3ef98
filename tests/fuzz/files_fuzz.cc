// Files of numbers and texts: safetensors, recordings, tables and data sets.
#include <cstddef>
#include <optional>

#include "insight/io/table_file.h"
#include "insight/tables/attention_tables.h"
#include "model/files/safetensors.h"
#include "model/recording/recording_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "text/datasets/data_set.h"

namespace attn::fuzz {

void fuzz_safetensors(std::string_view input) {
  documented([&] {
    const model::SafeTensors file = model::SafeTensors::of(input, "fuzz.safetensors");
    for (const auto& [name, tensor] : file.tensors()) {
      require(tensor.bytes >= 0 && tensor.offset >= 0 && tensor.offset + tensor.bytes <= file.bytes(),
              "a tensor lies inside its file");
      if (tensor.bytes > 0) {
        require(tensor.data == reinterpret_cast<const std::byte*>(input.data()) + tensor.offset,
                "a tensor begins at its offset");
      }
    }
  });
}

void fuzz_recording(std::string_view input) {
  documented([&] {
    const insight::RecordedTables tables(model::load_recording(file_with("fuzz.attn", std::string(input))));
    ThreadPool pool(1);
    for (const insight::AttentionStack& stack : tables.stacks()) {
      if (stack.layers > 0 && stack.heads > 0 && tables.queries(stack.kind).size() < 1000) {
        static_cast<void>(tables.weights({stack.kind, stack.layers - 1, stack.heads - 1}, pool));
      }
    }
  });
}

void fuzz_table(std::string_view input) {
  std::string bytes(input);
  const std::string extension = take_line(bytes);
  if (extension != "npy" && extension != "csv" && extension != "json") return;
  documented([&] {
    const insight::TableFile file = insight::read_table(file_with("fuzz." + extension, bytes));
    static_cast<void>(file);
  });
}

void fuzz_dataset(std::string_view input) {
  std::string bytes(input);
  const std::string extension = take_line(bytes), column = take_line(bytes);
  if (extension != "csv" && extension != "tsv" && extension != "jsonl" && extension != "txt") return;
  const std::string file = file_with("fuzz." + extension, bytes);
  for (const text::Wanted wanted : {text::Wanted::text, text::Wanted::label, text::Wanted::translation}) {
    documented([&] {
      text::DataSet data(file, wanted,
                         {.text = column.empty() ? std::nullopt : std::optional(column), .label = std::nullopt});
      double share = 0;
      while (data.next_example()) {
        require(data.share() >= share && data.share() <= 1, "the share that has been read grows towards 1");
        share = data.share();
      }
    });
  }
}

}  // namespace attn::fuzz
