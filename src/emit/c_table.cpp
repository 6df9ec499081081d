// Hash tables of groups in C, one for each type of key.
#include "emit/c_table.h"

namespace twill {

namespace {

/// The fields of a key as words of 64 bits, as few as hold them. (The bytes between fields are arbitrary.)
class Words {
 public:
  Words(const std::string& text, const Type& type) { add(text, type); }

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  void add(const std::string& text, const Type& type) {
    if (!type.is_scalar()) {
      for (const Field& field : type.record().fields) add(text + "." + c_field(field.name), field.type);
      return;
    }
    const int bits = 8 * info(type.scalar()).bytes;
    const std::string word = "(uint64_t)(uint" + std::to_string(bits) + "_t)" + text;
    if (texts_.empty() || used_ + bits > 64) {
      texts_.push_back(word);
      used_ = bits;
    } else {
      texts_.back() += " | " + word + " << " + std::to_string(used_);
      used_ += bits;
    }
  }

  std::vector<std::string> texts_;
  int used_ = 0;  // bits of the last word
};

std::string hash_function(const std::string& name, const std::string& type, const Type& key) {
  const Words words("key", key);
  std::string text = "static inline uint64_t " + name + "(" + type + " key) {\n";
  if (words.texts().size() == 1)
    return text + "  return (" + words.texts().front() + ") * UINT64_C(0x9e3779b97f4a7c15);\n}\n";
  std::string hash = "0";
  for (const std::string& word : words.texts()) hash = "twill_mix(" + hash + ", " + word + ")";
  return text + "  return " + hash + ";\n}\n";
}

std::string same_function(const std::string& name, const std::string& type, const Type& key) {
  const Words left("a", key), right("b", key);
  std::string equal;
  for (std::size_t w = 0; w < left.texts().size(); ++w)
    equal += (w == 0 ? "(" : " && (") + left.texts()[w] + ") == (" + right.texts()[w] + ")";
  return "static inline bool " + name + "(" + type + " a, " + type + " b) {\n  return " + equal + ";\n}\n";
}

}  // namespace

std::string table_lookup(const std::string& function, const Type& key, CContext& context) {
  const std::string type = context.names.type(key);
  const auto fresh = [&](const char* suffix) { return context.names.fresh(function + suffix); };
  const std::string hash = fresh("_hash"), same = fresh("_same"), widen = fresh("_widen"),
                    add = fresh("_new");
  const std::string parameters = "(twill_frame *frame, twill_table *table, " + type +
                                 " **keys, int64_t *room, int64_t *count, " + type + " key";
  return hash_function(hash, type, key) + same_function(same, type, key) +  //
         "static bool " + widen + "(twill_frame *frame, twill_table *table, const " + type +
         " *keys, int64_t count) {\n"
         "  twill_table wide;\n"
         "  if (!twill_start_table(frame, &wide, 2 * table->size)) return false;\n"
         "  for (int64_t k = 0; k < count; ++k) {\n"
         "    int64_t at = (int64_t)(" +
         hash +
         "(keys[k]) >> wide.shift);\n"
         "    while (wide.slots[at]) at = (at + 1) & (wide.size - 1);\n"
         "    wide.slots[at] = k + 1;\n"
         "  }\n"
         "  twill_free(frame, table->slots);\n"
         "  *table = wide;\n"
         "  return true;\n"
         "}\n"
         "static __attribute__((noinline)) int64_t " +
         add + parameters +
         ", int64_t at) {\n"
         "  if (*count == *room) {\n"
         "    " +
         type + " *more = twill_grow(frame, *keys, room, sizeof(" + type +
         "));\n"
         "    if (!more) return -1;\n"
         "    *keys = more;\n"
         "  }\n"
         "  (*keys)[*count] = key;\n"
         "  table->slots[at] = ++*count;\n"
         "  if (2 * *count > table->size && !" +
         widen +
         "(frame, table, *keys, *count)) return -1;\n"
         "  return *count - 1;\n"
         "}\n"
         "static inline int64_t " +
         function + parameters +
         ") {\n"
         "  int64_t at = (int64_t)(" +
         hash +
         "(key) >> table->shift);\n"
         "  for (int64_t slot = table->slots[at]; slot; slot = table->slots[at]) {\n"
         "    if (" +
         same +
         "(key, (*keys)[slot - 1])) return slot - 1;\n"
         "    at = (at + 1) & (table->size - 1);\n"
         "  }\n"
         "  return " +
         add +
         "(frame, table, keys, room, count, key, at);\n"
         "}\n\n";
}

}  // namespace twill
