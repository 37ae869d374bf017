// Linked into `cait-faiss`: carries out `cait search`.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "evaluate/index/faiss_index.h"
#include "faiss_guard.h"
#include "input_files.h"
#include "model_arguments.h"
#include "output.h"
#include "sandboxed.h"
#include "search.h"
#include "search_sheet.h"
#include "system/cpu_limit.h"

namespace cait::app {

namespace {

// An index and what lies beside it.
struct OpenIndex {
    FaissIndex index;
    EmbeddedSet known;
};

OpenIndex open_index(const SearchArguments& arguments) {
    FaissIndex index = FaissIndex::open(arguments.index);
    EmbeddedSet known = read_beside_index(arguments.index, index.rows(), index.columns());
    OpenIndex open{std::move(index), std::move(known)};
    open.index.set_parameters(arguments.parameters);
    return open;
}

EmbeddedSet row_queries(const SearchArguments& arguments, const OpenIndex& open) {
    EmbeddedSet queries;
    queries.data = open.known.data;
    queries.part = open.known.part;
    queries.levels = open.known.levels;
    for (LabelLevel& level : queries.levels) level.labels.clear();
    for (const std::size_t row : arguments.rows) {
        if (row >= open.index.rows())
            throw UsageError(
                fmt::format("--row: expected 0 to {}, found {}", open.index.rows() - 1, row));
        const std::vector<float> values = open.index.vector(row);
        queries.vectors.values.insert(queries.vectors.values.end(), values.begin(), values.end());
        queries.names.push_back(open.known.names[row]);
        queries.indices.push_back(open.known.indices[row]);
        for (std::size_t i = 0; i < queries.levels.size(); ++i)
            queries.levels[i].labels.push_back(open.known.levels[i].labels[row]);
    }
    queries.vectors.rows = arguments.rows.size();
    queries.vectors.columns = open.index.columns();
    return queries;
}

EmbeddedSet picture_queries(const SearchArguments& arguments, const FoundModel& found,
                            const OpenIndex& open, EmbedSubject& subject) {
    const Embedder embedder = make_embedder(arguments.embed, open_with_notes(found).model);
    check_same_maker(open.known.maker, embedder.maker(), arguments.index);
    subject = arguments.pictures.data.empty()
                  ? embed_files(arguments.pictures.files)
                  : EmbedSubject{arguments.pictures.drawn(), arguments.pictures.data, Split::val};
    EmbeddedSet queries = embedder.embed(subject, "search");
    normalise(queries.vectors, arguments.embed.weights);
    return queries;
}

nlohmann::json labels_json(const std::vector<LabelLevel>& levels, std::size_t row) {
    nlohmann::json labels = nlohmann::json::object();
    for (const LabelLevel& level : levels)
        labels[level.name] = level.classes.names[std::size_t(level.labels[row])];
    return labels;
}

void print_answers(const SearchArguments& arguments, const EmbeddedSet& queries,
                   const EmbeddedSet& known, const Answers& answers) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t q = 0; q < answers.size(); ++q) {
        nlohmann::json found = nlohmann::json::array();
        if (!arguments.json) print_out("{}\n", queries.names[q]);
        for (const Neighbour& one : answers[q]) {
            const std::string level = agreeing_level(queries, q, known, one.row);
            if (!arguments.json) {
                print_out("  {:>7.4f}  {}{}\n", one.similarity, known.names[one.row],
                          level.empty() ? "" : "  (same " + level + ")");
                continue;
            }
            nlohmann::json entry{{"row", one.row},
                                 {"name", known.names[one.row]},
                                 {"similarity", one.similarity},
                                 {"labels", labels_json(known.levels, one.row)}};
            if (!queries.levels.empty())
                entry["same"] = level.empty() ? nullptr : nlohmann::json(level);
            found.push_back(std::move(entry));
        }
        list.push_back({{"query", queries.names[q]},
                        {"labels", labels_json(queries.levels, q)},
                        {"found", std::move(found)}});
    }
    if (arguments.json) print_json(list);
}

}  // namespace

void run(const SearchArguments& arguments, const Invocation&) {
    const FaissGuard guard(arguments.index);
    const FoundModel found = find_model(arguments.embed.words());
    enter_sandbox_for({arguments.sheet, arguments.embed.executor.cache});
    const OpenIndex open = open_index(arguments);
    if (arguments.k > open.index.rows())
        throw UsageError(fmt::format("--k: expected 1 to {}, the images of {}, found {}",
                                     open.index.rows(), arguments.index, arguments.k));
    EmbedSubject subject;
    const EmbeddedSet queries = arguments.rows.empty()
                                    ? picture_queries(arguments, found, open, subject)
                                    : row_queries(arguments, open);
    const Answers answers = open.index.search(queries.vectors, arguments.k, default_threads());
    print_answers(arguments, queries, open.known, answers);
    if (!arguments.sheet.empty())
        draw_sheet(arguments, queries, subject.images, open.known, answers);
}

}  // namespace cait::app
