// Linked into `cait-faiss`: carries out `cait index`.
#include "evaluate/index/faiss_index.h"

#include "faiss_guard.h"
#include "input_files.h"
#include "model_arguments.h"
#include "output.h"
#include "progress.h"
#include "sandboxed.h"
#include "search.h"

namespace cait::app {

namespace {

EmbeddedSet vectors_for(const IndexArguments& arguments, const FoundModel& found) {
    if (!arguments.vectors.empty()) return read_embedded_set(arguments.vectors, true);
    const Embedder embedder = make_embedder(arguments.embed, open_with_notes(found).model);
    const EmbedSubject subject =
        arguments.data.empty()
            ? embed_files(arguments.files)
            : EmbedSubject::of_data(arguments.data, Split::train, terminal_observer());
    OutputFile(arguments.output).not_in(*subject.images);
    return embedder.embed(subject, "index");
}

}  // namespace

void run(const IndexArguments& arguments, const Invocation&) {
    const FaissGuard guard(arguments.output);
    const FoundModel found = find_model(arguments.embed.words());
    enter_sandbox_for(
        {arguments.output, beside_index(arguments.output), arguments.embed.executor.cache});
    EmbeddedSet set = vectors_for(arguments, found);
    normalise(set.vectors, arguments.vectors.empty() ? arguments.embed.weights : arguments.vectors);
    const FaissIndex index = FaissIndex::build(set.vectors, arguments.factory);
    for (const std::string& note : index.notes()) print_error("note: {}\n", note);
    set.vectors.values.clear();  // they are in the index
    // The names first: an index without them could not be searched.
    write_embedded_set(beside_index(arguments.output), set);
    index.save(arguments.output);
    print_error("wrote {}: {} images, {} numbers each, {}\n", arguments.output, index.rows(),
                index.columns(), arguments.factory);
}

}  // namespace cait::app
