// The curl commands of docs/serve.md as they stand there, and TLS.
#include <gmock/gmock.h>

#include "e2e/served.h"
#include "support/source_path.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class ServeDocs : public Served {
protected:
    ServeDocs() { data_test::put(folder_ / "rose.jpg", photo_); }

    static bool have(const std::string& program) {
        return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
    }
    // In the folder of the test; what it printed.
    std::string shell(const std::string& script, int& status) const {
        const std::string whole = "cd '" + folder_.string() + "' && set -e\n" + script + "\n";
        write("script", whole);
        status =
            std::system(("sh '" + path("script") + "' > '" + path("printed") + "' 2>&1").c_str());
        return read(path("printed"));
    }
};

// The blocks that are marked as shell, one after the other.
std::vector<std::string> examples(const std::string& document) {
    std::vector<std::string> blocks;
    for (std::size_t at = 0; (at = document.find("```sh\n", at)) != std::string::npos;) {
        at += 6;
        const std::size_t end = document.find("```", at);
        blocks.push_back(document.substr(at, end - at));
        at = end + 3;
    }
    return blocks;
}

TEST_F(ServeDocs, ExamplesRun) {
    if (!have("curl")) GTEST_SKIP() << "curl is not installed";
    start({"flowers=" + path("tiny.safetensors")});
    const std::vector<std::string> blocks = examples(
        read((test::source_path(__FILE__).parent_path() / "../../docs/serve.md").string()));
    ASSERT_EQ(blocks.size(), 2U);
    for (std::string block : blocks) {
        for (std::size_t at = 0; (at = block.find(":8080", at)) != std::string::npos;)
            block.replace(at, 5, ":" + std::to_string(port_));
        for (std::size_t at = 0; (at = block.find("curl -s", at)) != std::string::npos; at += 10)
            block.replace(at, 7, "curl -sf");
        int status = -1;
        const std::string printed = shell(block, status);
        EXPECT_EQ(status, 0) << block << printed;
    }
    int status = -1;
    EXPECT_THAT(shell("cat answer.bin", status), HasSubstr("\"model_name\":\"flowers\""));
}

TEST_F(ServeDocs, SpeaksTls) {
    if (!have("curl") || !have("openssl")) GTEST_SKIP() << "curl or openssl is not installed";
    int status = -1;
    shell(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem "
        "-out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1",
        status);
    ASSERT_EQ(status, 0);
    start({"--certificate", path("cert.pem"), "--key", path("key.pem")});
    const std::string printed =
        shell("curl -sf --cacert cert.pem --data-binary @rose.jpg https://127.0.0.1:" +
                  std::to_string(port_) + "/classify",
              status);
    EXPECT_EQ(status, 0) << printed;
    EXPECT_THAT(printed, HasSubstr("\"label\""));
    EXPECT_EQ(stop(), 0);
    write("bad.pem", "nothing");
    expect_refused(cait({"serve", path("tiny.safetensors"), "--port", "0", "--certificate",
                         path("bad.pem"), "--key", path("key.pem")}),
                   1, {"bad.pem", "certificate"});
}

}  // namespace
}  // namespace cait::e2e
