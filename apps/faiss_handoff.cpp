// Linked into `cait` and `cait-torch`: indexes are the business of `cait-faiss`, the same program
// with FAISS in it, whose BLAS would be loaded by every other command, too.
#include "handoff.h"
#include "search.h"

namespace cait::app {

namespace {

void continue_in_faiss(const Invocation& invocation) {
    choose_blas_kernels();
    continue_as("cait-faiss", "it is part of the build and of the package", invocation);
}

}  // namespace

void run(const IndexArguments&, const Invocation& invocation) { continue_in_faiss(invocation); }
void run(const SearchArguments&, const Invocation& invocation) { continue_in_faiss(invocation); }

}  // namespace cait::app
