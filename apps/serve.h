// `cait serve` and its arguments.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace cait::app {

struct ServeArguments {
    ModelOptions model;
    std::vector<std::string> files;  // FILE, NAME=FILE; a name again is its next version
    std::string classes;             // file with names
    std::string host = "127.0.0.1";
    std::vector<std::string> names;  // of hosts that clients may use, in addition to addresses
    bool control = false;            // clients without a token may load and unload models
    std::uint16_t port = 8080;
    std::string precision = "fp32";
    int threads = 0;        // of the engine; 0: all that there are
    int workers = 0;        // that decode; 0: all that there are
    std::size_t batch = 8;  // images that may go together
    double bound = 250;     // milliseconds
    double delay = 0;       // milliseconds
    double grace = 1;       // seconds between "not ready" and closing
    double patience = 30;   // seconds for the answers after that
    double timeout = 10;    // seconds
    std::size_t connections = 12'000;
    double megapixels = 64;      // of an image
    std::string answer = "64M";  // bytes of one answer
    std::string index;           // of `cait index` or `cait embed`
    std::string pictures;        // folder whose images of the index may be shown
    std::string token_file;
    std::string log;  // file, or - for stdout
    std::string certificate, key;
};

void run(const ServeArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
