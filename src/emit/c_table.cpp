// Hash tables of groups in C, one for each type of key.
#include "emit/c_table.h"

#include <functional>

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

/// A key from its only word.
std::string from_word(const std::string& word, const Type& key, CContext& context) {
  int shift = 0;
  const std::function<std::string(const Type&)> part = [&](const Type& type) -> std::string {
    if (type.is_scalar()) {
      const int bits = 8 * info(type.scalar()).bytes;
      // Of its own bits only: any other one would make a bool true.
      const std::string own =
          "(uint" + std::to_string(bits) + "_t)(" + word + " >> " + std::to_string(shift) + ")";
      shift += bits;
      return "(" + context.names.type(type) + ")" + own;
    }
    std::string fields;
    for (const Field& field : type.record().fields) fields += (fields.empty() ? "" : ", ") + part(field.type);
    return "{" + fields + "}";
  };
  return (key.is_scalar() ? "" : "(" + context.names.type(key) + ")") + part(key);
}

/// Adds an element to a buffer that a table has by reference.
std::string push(const std::string& type, const std::string& n, const std::string& element) {
  return "  if (*own->count" + n + " == *own->room" + n +
         ") {\n"
         "    " +
         type + " *more = twill_grow(frame, *own->buffer" + n + ", own->room" + n + ", sizeof(" + type +
         "));\n"
         "    if (!more) return -1;\n"
         "    *own->buffer" +
         n +
         " = more;\n"
         "  }\n"
         "  (*own->buffer" +
         n + ")[(*own->count" + n + ")++] = " + element + ";\n";
}

/// What a table consists of. Only keys that are new need all of it: it is handed over at one address, so that
/// the loop has its registers for other things.
std::string own_type(const std::string& name, std::span<const std::string> buffers) {
  std::string text = "typedef struct {\n  twill_table *table;\n";
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const std::string n = std::to_string(b);
    text += "  " + buffers[b] + " **buffer" + n + ";\n  int64_t *room" + n + ", *count" + n + ";\n  const " +
            buffers[b] + " *first" + n + ";\n";
  }
  return text + "} " + name + ";\n";
}

/// The function that a new key needs: `place` puts its number into the table.
std::string add_function(const TableFunctions& f, std::span<const std::string> buffers,
                         const std::string& key, const std::string& place) {
  std::string text = own_type(f.own, buffers) + "static __attribute__((noinline, cold)) int64_t " + f.add +
                     "(twill_frame *frame, const " + f.own +
                     " *own, uint64_t at) {\n"
                     "  twill_table *const table = own->table;\n"
                     "  const int64_t number = *own->count0;\n" +
                     push(buffers.front(), "0", key);
  for (std::size_t b = 1; b < buffers.size(); ++b) {
    const std::string n = std::to_string(b);
    text += push(buffers[b], n, "*own->first" + n);
  }
  return text + place + "  return number;\n}\n";
}

std::string find_function(const TableFunctions& f, const std::string& key, const std::string& body) {
  return "static inline int64_t " + f.find + "(const twill_table *table, const " + key + " *keys, " + key +
         " key, uint64_t *at) {\n" + body + "}\n\n";
}

TableFunctions direct_functions(TableFunctions f, const Type& key, std::span<const std::string> buffers,
                                CContext& context) {
  const std::string type = context.names.type(key);
  f.text =
      add_function(f, buffers, from_word("at", key, context), "  table->slots[at] = (uint64_t)number;\n") +
      find_function(f, type,
                    "  (void)keys;\n"
                    "  *at = " +
                        Words("key", key).texts().front() +
                        ";\n"
                        "  return (int64_t)table->slots[*at];\n");
  return f;
}

}  // namespace

std::int64_t first_table_size(const Type& key) {
  const int bits = Words("", key).bits();
  return bits <= bits_of_a_subscript ? std::int64_t{1} << bits : 256;
}

TableFunctions table_functions(const std::string& table, const Type& key,
                               std::span<const std::string> buffers, CContext& context) {
  TableFunctions f;
  f.find = context.names.fresh(table + "_find");
  f.add = context.names.fresh(table + "_add");
  f.own = context.names.fresh(table + "_own");
  f.direct = Words("", key).bits() <= bits_of_a_subscript;
  if (f.direct) return direct_functions(f, key, buffers, context);
  const std::string type = context.names.type(key);
  const KeyFunctions of_key = key_functions(table, key, context);
  const std::string widen = context.names.fresh(table + "_widen");
  const std::string compare =
      of_key.same.empty() ? "" : " && " + of_key.same + "(key, keys[slot & UINT32_MAX])";
  const std::string place =
      "  if (number == UINT32_MAX) return -1;\n"
      "  table->slots[at] = " +
      of_key.tag +
      "(*own->first0) << 32 | (uint64_t)number;\n"
      "  if (2 * (number + 1) > table->size && !" +
      widen + "(frame, table, *own->buffer0, number + 1)) return -1;\n";
  f.text = of_key.text + "static bool " + widen + "(twill_frame *frame, twill_table *table, const " + type +
           " *keys, int64_t count) {\n"
           "  twill_table wide;\n"
           "  if (!twill_start_table(frame, &wide, 2 * table->size)) return false;\n"
           "  for (int64_t k = 0; k < count; ++k) {\n"
           "    int64_t at = (int64_t)(" +
           of_key.hash +
           "(keys[k]) >> wide.shift);\n"
           "    while (wide.slots[at] != TWILL_EMPTY) at = (at + 1) & (wide.size - 1);\n"
           "    wide.slots[at] = " +
           of_key.tag +
           "(keys[k]) << 32 | (uint64_t)k;\n"
           "  }\n"
           "  twill_free(frame, table->slots);\n"
           "  *table = wide;\n"
           "  return true;\n"
           "}\n" +
           add_function(f, buffers, "*own->first0", place) +
           find_function(f, type,
                         "  (void)keys;\n"
                         "  const uint64_t tag = " +
                             of_key.tag +
                             "(key);\n"
                             "  uint64_t place = " +
                             of_key.hash +
                             "(key) >> table->shift;\n"
                             "  for (uint64_t slot; (slot = table->slots[place]) != TWILL_EMPTY;\n"
                             "       place = (place + 1) & (uint64_t)(table->size - 1))\n"
                             "    if (slot >> 32 == tag" +
                             compare +
                             ") return (int64_t)(slot & UINT32_MAX);\n"
                             "  *at = place;\n"
                             "  return -1;\n");
  return f;
}

}  // namespace twill
