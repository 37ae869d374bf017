#include "serve/http/router.h"

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Router example() {
    Router router;
    for (const auto& [method, path] : std::vector<std::pair<const char*, const char*>>{
             {"GET", "/v2/models/stats"},
             {"GET", "/v2/models/{model}"},
             {"POST", "/v2/models/{model}/versions/{version}/infer"},
             {"GET", "/"},
             {"POST", "/"}})
        router.add(method, path, [](const Call&) {});
    return router;
}

TEST(Router, FindsPatternsAndWhatStandsInThem) {
    const Router router = example();
    EXPECT_THAT(router.find("GET", "/v2/models/a%20b").words, ElementsAre("a b"));
    EXPECT_THAT(router.find("POST", "/v2/models/m/versions/2/infer").words, ElementsAre("m", "2"));
    EXPECT_THAT(router.find("GET", "/v2/models/stats").words, ElementsAre());  // the first
    EXPECT_THAT(router.find("HEAD", "/").words, ElementsAre());
}

TEST(Router, SaysWhichMethodsAPathHas) {
    const Router router = example();
    EXPECT_EQ(refusal_of([&] { router.find("GET", "/v2/models/m/versions/2/infer"); }).status, 405);
    EXPECT_EQ(router.methods("/v2/models/m/versions/2/infer"), "POST");
    EXPECT_EQ(router.methods("/"), "GET, HEAD, POST");
    EXPECT_EQ(router.methods("/none"), "");
    for (const char* path : {"/none", "/v2/models/", "/v2/models/m/", "/v2", "//", "/v2/models//x"})
        EXPECT_EQ(refusal_of([&] { router.find("GET", path); }).status, 404) << path;
}

}  // namespace
}  // namespace cait::serve
