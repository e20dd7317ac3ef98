// model/files/safetensors_distributed.h - writes one safetensors file from several processes.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attn/ranks.h"
#include "model/files/safetensors.h"

namespace attn::model {

// A tensor of which each rank holds some rows or some columns, split by RingSplit, stored contiguously.
struct PartToStore {
  enum class Split : std::uint8_t { none, rows, columns };  // none: every rank has it, and rank 0 writes it

  TensorToStore whole;  // shape of the whole tensor, [rows, columns] of F32; data of this rank
  Split split = Split::none;
};

// With one rank this is plain write_safetensors(). A collective call: all ranks pass the same tensors (only rank 0
// needs data for those with Split::none); metadata comes from rank 0. All ranks must have access to the file's folder.
// Throws on all ranks or on none: the actual error on the rank that failed, std::runtime_error on the others. On
// failure no file is left.
void write_safetensors(Ranks& ranks, const std::filesystem::path& file, const std::vector<PartToStore>& parts,
                       const std::map<std::string, std::string, std::less<>>& metadata,
                       const std::function<void()>& between = {});

}  // namespace attn::model
