// Hash tables of groups in C, one for each type of key.
#include "emit/c_table.h"

namespace twill {

namespace {

/// The fields of a key as words of 64 bits, as few as hold them. (The bytes between fields are arbitrary.)
class Words {
 public:
  Words(const std::string& text, const Type& type) { add(text, type); }

  const std::vector<std::string>& texts() const { return texts_; }
  int bits() const { return 64 * static_cast<int>(texts_.size() - 1) + used_; }

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

/// Functions of a type of key that a table needs. A key of at most 32 bits is its own tag: no other key has
/// it. Otherwise a tag is a part of the hash, and keys with equal tags have to be compared.
struct KeyFunctions {
  std::string hash, tag, same;  // names; `same` is empty if tags say it all
  std::string text;
};

KeyFunctions key_functions(const std::string& function, const Type& key, CContext& context) {
  const std::string type = context.names.type(key);
  const Words words("key", key), left("a", key), right("b", key);
  const bool narrow = words.bits() <= 32;
  KeyFunctions f;
  f.hash = context.names.fresh(function + "_hash");
  f.tag = context.names.fresh(function + "_tag");
  std::string hash = "(" + words.texts().front() + ") * UINT64_C(0x9e3779b97f4a7c15)";
  if (words.texts().size() > 1) {
    hash = "0";
    for (const std::string& word : words.texts()) hash = "twill_mix(" + hash + ", " + word + ")";
  }
  f.text += "static inline uint64_t " + f.hash + "(" + type + " key) {\n  return " + hash + ";\n}\n";
  f.text += "static inline uint64_t " + f.tag + "(" + type + " key) {\n  return " +
            (narrow ? words.texts().front() : f.hash + "(key) & UINT32_MAX") + ";\n}\n";
  if (narrow) return f;
  f.same = context.names.fresh(function + "_same");
  f.text += "static inline bool " + f.same + "(" + type + " a, " + type + " b) {\n  return ";
  for (std::size_t w = 0; w < left.texts().size(); ++w)
    f.text += (w == 0 ? "(" : " && (") + left.texts()[w] + ") == (" + right.texts()[w] + ")";
  f.text += ";\n}\n";
  return f;
}

/// Keys of so few bits are subscripts of their table.
constexpr int bits_of_a_subscript = 16;

/// The end of a key's search that nobody succeeded in: it becomes the last key.
std::string add_key(const std::string& type) {
  return "  if (*count == *room) {\n"
         "    " +
         type + " *more = twill_grow(frame, *keys, room, sizeof(" + type +
         "));\n"
         "    if (!more) return -1;\n"
         "    *keys = more;\n"
         "  }\n"
         "  (*keys)[*count] = key;\n";
}

std::string direct_lookup(const std::string& function, const Type& key, CContext& context) {
  const std::string type = context.names.type(key);
  const std::string add = context.names.fresh(function + "_new");
  const std::string parameters = "(twill_frame *frame, twill_table *table, " + type +
                                 " **keys, int64_t *room, int64_t *count, " + type + " key";
  return "static __attribute__((noinline)) int64_t " + add + parameters + ", uint64_t at) {\n" +
         add_key(type) +
         "  table->slots[at] = (uint64_t)*count;\n"
         "  return (*count)++;\n"
         "}\n"
         "static inline int64_t " +
         function + parameters + ") {\n  const uint64_t at = " + Words("key", key).texts().front() +
         ";\n"
         "  const uint64_t slot = table->slots[at];\n"
         "  if (slot != TWILL_EMPTY) return (int64_t)(slot & UINT32_MAX);\n"
         "  return " +
         add +
         "(frame, table, keys, room, count, key, at);\n"
         "}\n\n";
}

}  // namespace

std::int64_t first_table_size(const Type& key) {
  const int bits = Words("", key).bits();
  return bits <= bits_of_a_subscript ? std::int64_t{1} << bits : 256;
}

std::string table_lookup(const std::string& function, const Type& key, CContext& context) {
  if (Words("", key).bits() <= bits_of_a_subscript) return direct_lookup(function, key, context);
  const std::string type = context.names.type(key);
  const KeyFunctions f = key_functions(function, key, context);
  const std::string widen = context.names.fresh(function + "_widen"),
                    add = context.names.fresh(function + "_new");
  const std::string parameters = "(twill_frame *frame, twill_table *table, " + type +
                                 " **keys, int64_t *room, int64_t *count, " + type + " key";
  const std::string compare = f.same.empty() ? "" : " && " + f.same + "(key, (*keys)[slot & UINT32_MAX])";
  return f.text + "static bool " + widen + "(twill_frame *frame, twill_table *table, const " + type +
         " *keys, int64_t count) {\n"
         "  twill_table wide;\n"
         "  if (!twill_start_table(frame, &wide, 2 * table->size)) return false;\n"
         "  for (int64_t k = 0; k < count; ++k) {\n"
         "    int64_t at = (int64_t)(" +
         f.hash +
         "(keys[k]) >> wide.shift);\n"
         "    while (wide.slots[at] != TWILL_EMPTY) at = (at + 1) & (wide.size - 1);\n"
         "    wide.slots[at] = " +
         f.tag +
         "(keys[k]) << 32 | (uint64_t)k;\n"
         "  }\n"
         "  twill_free(frame, table->slots);\n"
         "  *table = wide;\n"
         "  return true;\n"
         "}\n"
         "static __attribute__((noinline)) int64_t " +
         add + parameters +
         ", int64_t at) {\n"
         "  if (*count == UINT32_MAX) return -1;\n" +
         add_key(type) + "  table->slots[at] = " + f.tag +
         "(key) << 32 | (uint64_t)(*count)++;\n"
         "  if (2 * *count > table->size && !" +
         widen +
         "(frame, table, *keys, *count)) return -1;\n"
         "  return *count - 1;\n"
         "}\n"
         "static inline int64_t " +
         function + parameters +
         ") {\n"
         "  const uint64_t tag = " +
         f.tag +
         "(key);\n"
         "  int64_t at = (int64_t)(" +
         f.hash +
         "(key) >> table->shift);\n"
         "  for (uint64_t slot; (slot = table->slots[at]) != TWILL_EMPTY; at = (at + 1) & (table->size - "
         "1))\n"
         "    if (slot >> 32 == tag" +
         compare +
         ") return (int64_t)(slot & UINT32_MAX);\n"
         "  return " +
         add +
         "(frame, table, keys, room, count, key, at);\n"
         "}\n\n";
}

}  // namespace twill
