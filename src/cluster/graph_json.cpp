// Fusion graphs as JSON.
#include "base/error.h"
#include "cluster/graph.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>

namespace twill {

namespace {

using Json = nlohmann::json;

const std::map<std::string, Combinator> kinds = {
    {"input", Combinator::Input},    {"generate", Combinator::Generate}, {"map", Combinator::Map},
    {"gather", Combinator::Gather},  {"scatter", Combinator::Scatter},   {"fold", Combinator::Fold},
    {"scanl", Combinator::ScanLeft}, {"scanr", Combinator::ScanRight}};

const std::map<std::string, Port> ports = {{"arg", Port::Argument},     {"gsrc", Port::Source},
                                           {"gidx", Port::Index},       {"ssrc", Port::Scattered},
                                           {"dest", Port::Destination}, {"index", Port::Element}};

class Reader {
 public:
  explicit Reader(std::string where) : where_(std::move(where)) {}

  FusionGraph read(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) wrong("is not JSON");
    std::vector<GraphNode> nodes;
    std::map<std::int64_t, int> position;
    for (const Json& item : list(json, "nodes")) {
      const std::int64_t id = number(item, "id");
      if (!position.emplace(id, static_cast<int>(nodes.size())).second)
        wrong(fmt::format("has two nodes with id {}", id));
      GraphNode node;
      node.name = item.contains("name") ? word(item, "name") : fmt::format("n{}", id);
      node.kind = one_of(item, "kind", kinds);
      node.result = item.contains("out") && number(item, "out") != 0;
      if (node.kind == Combinator::Gather) node.label = static_cast<int>(number(item, "label"));
      nodes.push_back(std::move(node));
    }
    std::vector<GraphEdge> edges;
    for (const Json& item : list(json, "edges")) {
      GraphEdge edge;
      for (auto [key, end] : {std::pair{"s", &edge.from}, {"d", &edge.to}}) {
        const std::int64_t id = number(item, key);
        const auto found = position.find(id);
        if (found == position.end()) wrong(fmt::format("has an edge with an unknown node {}", id));
        *end = found->second;
      }
      edge.port = one_of(item, "port", ports);
      edge.forced = item.contains("forced") && number(item, "forced") != 0;
      edges.push_back(edge);
    }
    return {std::move(nodes), std::move(edges)};
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    fail(Fault::User, "E0902", {}, fmt::format("the graph {} {}", where_, what),
         "`twill cluster --help` shows one");
  }

  const Json& list(const Json& json, const char* key) const {
    if (!json.is_object() || !json.contains(key) || !json[key].is_array())
      wrong(fmt::format("has no list \"{}\"", key));
    return json[key];
  }

  const Json& member(const Json& item, const char* key) const {
    if (!item.is_object() || !item.contains(key))
      wrong(fmt::format("has {} without \"{}\"", item.dump(), key));
    return item[key];
  }

  std::int64_t number(const Json& item, const char* key) const {
    const Json& value = member(item, key);
    if (value.is_boolean()) return value.get<bool>();
    if (!value.is_number_integer()) wrong(fmt::format("has {} whose \"{}\" is no integer", item.dump(), key));
    return value.get<std::int64_t>();
  }

  std::string word(const Json& item, const char* key) const {
    const Json& value = member(item, key);
    if (!value.is_string()) wrong(fmt::format("has {} whose \"{}\" is no text", item.dump(), key));
    return value.get<std::string>();
  }

  template <class T>
  T one_of(const Json& item, const char* key, const std::map<std::string, T>& all) const {
    const auto found = all.find(word(item, key));
    if (found != all.end()) return found->second;
    std::string names;
    for (const auto& [name, value] : all) names += (names.empty() ? "" : ", ") + name;
    wrong(fmt::format("has {}: \"{}\" is one of {}", item.dump(), key, names));
  }

  std::string where_;
};

}  // namespace

FusionGraph graph_from_json(const std::string& where, const std::string& text) {
  return Reader(where).read(text);
}

}  // namespace twill
