// The arguments of `cait index` and `cait search`; what is done with them needs FAISS and is linked
// into `cait-faiss`.
#pragma once

#include <string>
#include <vector>

#include "embed_arguments.h"
#include "pictures.h"

namespace cait::app {

struct IndexArguments {
    EmbedArguments embed;
    std::vector<std::string> files;
    std::string data;
    std::string vectors;  // a file of `cait embed` in their place
    std::string factory = "Flat";
    std::string output;
};

struct SearchArguments {
    EmbedArguments embed;
    std::string index;
    PictureArguments pictures;
    std::vector<std::size_t> rows;
    std::size_t k = 10;
    std::string parameters;
    std::string sheet;  // picture to draw
    std::int64_t side = 160;
    bool json = false;
};

void run(const IndexArguments& arguments, const Invocation& invocation);
void run(const SearchArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
