// Similar images: which ones an index has, and small pictures of them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/display_name.h"
#include "image/codec/encode.h"
#include "serve/http/query.h"
#include "serve/image_search.h"
#include "serve/routes/replies.h"
#include "serve/routes/sent_image.h"
#include "serve/service.h"

namespace cait::serve {

namespace {

using nlohmann::json;

constexpr std::size_t kMostNeighbours = 1000;

std::shared_ptr<const ImageSearch> index_of(const Service& service) {
    if (!service.options().search)
        throw HttpError(404, "search: this server was started without --index");
    return service.options().search;
}

// The one that made the vectors.
ServedModelPtr first_model(Service& service) {
    return service.repository().get(service.repository().index()[0].name);
}

json found_json(const ImageSearch& index, const Neighbour& one) {
    const EmbeddedSet& known = index.known();
    json labels = json::object();
    for (const LabelLevel& level : known.levels)
        labels[level.name] = level.classes.names[std::size_t(level.labels[one.row])];
    // Where the files lie is the server's own business.
    json found{{"row", one.row},
               {"name", std::filesystem::path(known.names[one.row]).filename().string()},
               {"similarity", one.similarity},
               {"labels", std::move(labels)}};
    if (index.shows_pictures()) found["picture"] = fmt::format("/search/images/{}", one.row);
    return found;
}

void search(Service& service, Call call) {
    const std::shared_ptr<const ImageSearch> index = index_of(service);
    const Parameters& parameters = call.request->parameters();
    parameters.allow({"k"});
    const std::size_t rows = index->known().vectors.rows;
    const std::size_t k =
        parameters.number("k", std::min<std::size_t>(10, rows), 1, std::min(rows, kMostNeighbours));
    const ServedModelPtr model = first_model(service);
    try {
        check_made_by(*index, *model, "index");  // its file may have been reloaded
    } catch (const Error& error) {
        throw HttpError(503, error.what());
    }
    service.compute(std::move(call), model,
                    features_work(model, [index, k](std::span<const float> features) {
                        Vectors query{1, features.size(), {features.begin(), features.end()}};
                        normalise(query, "image");
                        json found = json::array();
                        for (const Neighbour& one : index->nearest(query, k))
                            found.push_back(found_json(*index, one));
                        return json_response({{"found", std::move(found)}});
                    }));
}

// A client names a row and nothing else: which file that is, the index says, and whether it may be
// shown, the folder of --pictures.
std::size_t row_of(const std::string& word, std::size_t rows) {
    std::size_t row = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), row);
    if (problem != std::errc() || end != word.data() + word.size() || row >= rows)
        throw HttpError(404, fmt::format("{}: expected a row of the index, 0 to {}",
                                         display_name(word, 40), rows - 1));
    return row;
}

Response picture(const ImageSearch& index, std::size_t row, const Request& request) {
    std::vector<std::byte> bytes;
    try {
        bytes = encode_jpeg(
            index.picture(row, [&](std::uint64_t needed) { request.need(needed, "picture"); }));
    } catch (const HttpError&) {  // no memory for it, or not now
        throw;
    } catch (const Error&) {  // its text would say where files lie
        throw HttpError(404, fmt::format("row {}: its picture cannot be shown", row));
    }
    Response response{.type = "image/jpeg",
                      .body = {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
    // Pages of other sites may not show it either.
    response.fields.push_back({"Cross-Origin-Resource-Policy", "same-origin"});
    return response;
}

void image(Service& service, Call call) {
    const std::shared_ptr<const ImageSearch> index = index_of(service);
    if (!index->shows_pictures())
        throw HttpError(404, "search: this server was started without --pictures");
    const std::size_t row = row_of(call.words()[0], index->known().names.size());
    const std::shared_ptr<const Request> request = call.request;
    service.draw(std::move(call), [index, row, request] { return picture(*index, row, *request); });
}

}  // namespace

void add_search_routes(Service& service) {
    Router& router = service.router();
    router.add("POST", "/search", [&service](Call call) { search(service, std::move(call)); })
        .before_body = [&service](const Request& head) {
        index_of(service);
        service.check_room(*first_model(service), head.arrived);
    };
    router.add("GET", "/search/images/{row}",
               [&service](Call call) { image(service, std::move(call)); });
}

}  // namespace cait::serve
