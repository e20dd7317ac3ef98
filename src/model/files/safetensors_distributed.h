// model/files/safetensors_distributed.h - a safetensors file that several processes write together.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attn/ranks.h"
#include "model/files/safetensors.h"

namespace attn::model {

// A tensor of which each rank has some rows or some columns, as RingSplit says, one behind the other.
struct PartToStore {
  enum class Split : std::uint8_t { none, rows, columns };  // none: all have it, and rank 0 writes it

  TensorToStore whole;  // its shape is that of the whole, [rows, columns] of F32; its data are this rank's
  Split split = Split::none;
};

// Of one rank a plain write_safetensors(). All must call it, with the same tensors but for those that only rank 0 has
// behind them; metadata are rank 0's. The file's folder must be one that all of them see. Throws on all ranks or on
// none: what went wrong on a rank there, std::runtime_error elsewhere; nothing is left then.
void write_safetensors(Ranks& ranks, const std::filesystem::path& file, const std::vector<PartToStore>& parts,
                       const std::map<std::string, std::string, std::less<>>& metadata,
                       const std::function<void()>& between = {});

}  // namespace attn::model
