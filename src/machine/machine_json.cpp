// Machines as JSON.
#include "base/error.h"
#include "machine/machine.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace twill {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<CoreKind, std::string_view>, 7> kinds = {{{CoreKind::Node, "node"},
                                                                         {CoreKind::Device, "device"},
                                                                         {CoreKind::Core, "core"},
                                                                         {CoreKind::Block, "block"},
                                                                         {CoreKind::Warp, "warp"},
                                                                         {CoreKind::Thread, "thread"},
                                                                         {CoreKind::Simd, "simd"}}};

constexpr std::array<std::pair<const char*, double Rates::*>, 5> rate_keys = {
    {{"read_gbs", &Rates::read_gbs},
     {"copy_gbs", &Rates::copy_gbs},
     {"triad_gbs", &Rates::triad_gbs},
     {"f32_gflops", &Rates::f32_gflops},
     {"f64_gflops", &Rates::f64_gflops}}};

[[noreturn]] void wrong(const std::string& file, const std::string& what) {
  fail(Fault::User, "E0620", {}, fmt::format("machine file '{}': {}", file, what));
}

/// Takes the keys out of one JSON object; `finish` complains about those that nobody asked for.
class Reader {
 public:
  Reader(const Json& json, std::string where, const std::string& file)
      : json_(json), where_(std::move(where)), file_(file) {
    if (!json_.is_object()) wrong(file_, fmt::format("{} is not an object", where_));
  }

  const Json* find(const std::string& key) {
    known_.insert(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  void text(const char* key, std::string& value) {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_string()) complain(key, "a text");
    value = json->get<std::string>();
  }

  void rate(const char* key, double& value) {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_number() || json->get<double>() < 0) complain(key, "a number that is not negative");
    value = json->get<double>();
  }

  template <class Integer>
  void positive(const char* key, Integer& value) {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_number_integer() || json->get<std::int64_t>() < 1 ||
        json->get<std::int64_t>() > std::numeric_limits<Integer>::max()) {
      complain(key, "a positive integer");
    }
    value = json->get<Integer>();
  }

  void flag(const char* key, bool& value) {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_boolean()) complain(key, "true or false");
    value = json->get<bool>();
  }

  [[noreturn]] void complain(const std::string& key, const char* expected) const {
    wrong(file_, fmt::format("'{}' in {} must be {}", key, where_, expected));
  }

  void finish() const {
    for (const auto& [key, value] : json_.items())
      if (!known_.contains(key)) wrong(file_, fmt::format("unknown key '{}' in {}", key, where_));
  }

 private:
  const Json& json_;
  std::string where_;
  const std::string& file_;
  std::set<std::string> known_;
};

Json rates_json(const Rates& rates) {
  Json json = Json::object();
  for (const auto& [key, rate] : rate_keys) json[key] = rates.*rate;
  return json;
}

void read_rates(Reader& top, const char* key, Rates& rates, const std::string& file) {
  const Json* json = top.find(key);
  if (!json) return;
  Reader reader(*json, fmt::format("'{}'", key), file);
  for (const auto& [name, rate] : rate_keys) reader.rate(name, rates.*rate);
  reader.finish();
}

Json model_json(const TimeModel& model) {
  Json json;
  for (const TimeModel::Layer& layer : model.layers) {
    Json entry = {{"read_ns", layer.read_ns}, {"write_ns", layer.write_ns}};
    if (std::isfinite(layer.bytes)) entry["bytes"] = layer.bytes;
    json["layers"].push_back(std::move(entry));
  }
  json["operation_ns"] = model.operation_ns;
  json["call_ns"] = model.call_ns;
  json["array_ns"] = model.array_ns;
  return json;
}

const Json& layers(Reader& top, const char* key, const std::string& file) {
  const Json* json = top.find(key);
  if (!json || !json->is_array() || json->empty())
    wrong(file, fmt::format("'{}' must be a list of layers", key));
  return *json;
}

}  // namespace

namespace {

std::optional<TimeModel> read_model(Reader& top, const std::string& file) {
  const Json* json = top.find("fitted");
  if (!json) return std::nullopt;
  TimeModel model;
  model.layers.clear();
  Reader reader(*json, "'fitted'", file);
  for (const Json& entry : layers(reader, "layers", file)) {
    Reader one(entry, fmt::format("layer {} of 'fitted'", model.layers.size()), file);
    TimeModel::Layer& layer = model.layers.emplace_back();
    one.rate("bytes", layer.bytes);
    one.rate("read_ns", layer.read_ns);
    one.rate("write_ns", layer.write_ns);
    one.finish();
  }
  if (std::isfinite(model.layers.back().bytes))
    wrong(file, "the last of the layers in 'fitted' holds everything: it has no 'bytes'");
  reader.rate("operation_ns", model.operation_ns);
  reader.rate("call_ns", model.call_ns);
  reader.rate("array_ns", model.array_ns);
  reader.finish();
  return model;
}

}  // namespace

std::string to_json(const Machine& machine) {
  Json json;
  json["name"] = machine.name;
  for (const MemoryLayer& layer : machine.memory) {
    json["memory"].push_back({{"name", layer.name},
                              {"bytes", layer.bytes},
                              {"instances", layer.instances},
                              {"line_bytes", layer.line_bytes},
                              {"automatic", layer.automatic},
                              {"read_gbs", layer.read_gbs}});
  }
  for (const CoreLayer& layer : machine.cores) {
    json["cores"].push_back({{"kind", kinds[static_cast<std::size_t>(layer.kind)].second},
                             {"name", layer.name},
                             {"count", layer.count}});
  }
  json["rates"] = rates_json(machine.rates);
  json["single"] = rates_json(machine.single);
  json["launch_us"] = machine.launch_us;
  if (machine.fitted) json["fitted"] = model_json(*machine.fitted);
  return json.dump(2) + "\n";
}

Machine machine_from_json(std::string_view text, const std::string& file) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) wrong(file, "this is not JSON");
  Machine machine;
  Reader top(json, "the machine", file);
  top.text("name", machine.name);
  for (const Json& entry : layers(top, "memory", file)) {
    Reader reader(entry, fmt::format("memory layer {}", machine.memory.size()), file);
    MemoryLayer& layer = machine.memory.emplace_back();
    reader.text("name", layer.name);
    reader.positive("bytes", layer.bytes);
    reader.positive("instances", layer.instances);
    reader.positive("line_bytes", layer.line_bytes);
    reader.flag("automatic", layer.automatic);
    reader.rate("read_gbs", layer.read_gbs);
    reader.finish();
    if (layer.name.empty()) reader.complain("name", "given");
    if (layer.bytes == 0) reader.complain("bytes", "given");
  }
  for (const Json& entry : layers(top, "cores", file)) {
    Reader reader(entry, fmt::format("core layer {}", machine.cores.size()), file);
    CoreLayer& layer = machine.cores.emplace_back();
    std::string kind;
    reader.text("kind", kind);
    const auto found = std::ranges::find(kinds, kind, [](const auto& pair) { return pair.second; });
    if (found == kinds.end()) reader.complain("kind", "node, device, core, block, warp, thread or simd");
    layer.kind = found->first;
    layer.name = kind;
    reader.text("name", layer.name);
    reader.positive("count", layer.count);
    reader.finish();
  }
  read_rates(top, "rates", machine.rates, file);
  read_rates(top, "single", machine.single, file);
  top.rate("launch_us", machine.launch_us);
  machine.fitted = read_model(top, file);
  top.finish();
  return machine;
}

}  // namespace twill
