#include "serve/http/host_rule.h"

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

TEST(HostRule, AServerOfThisComputerAnswersToItsOwnNamesAlone) {
    for (const char* address : {"127.0.0.1", "::1", "127.0.0.3"}) {
        const HostRule rule(address);
        for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:80",
                                 "127.1.2.3:65535", "[::1]", "[::1]:8080"})
            EXPECT_TRUE(rule.allows(host)) << host;
        for (const char* host : {"evil.example",
                                 "evil.example:8080",
                                 "localhost.evil.example",
                                 "127.0.0.1.evil.example",
                                 "192.0.2.1",
                                 "[2001:db8::1]",
                                 "",
                                 ":8080",
                                 "localhost:x",
                                 "localhost:8080:1",
                                 "[::1",
                                 "[::1]x",
                                 "::1",
                                 "localhost.",
                                 "127.0.0.1@evil.example",
                                 "0x7f.1",
                                 "127.1",
                                 "[127.0.0.1].evil.example",
                                 "localhost:123456",
                                 "localhost "})
            EXPECT_FALSE(rule.allows(host)) << host;
    }
}

TEST(HostRule, AServerForOthersAnswersToAddressesAndToNamesThatItWasTold) {
    const HostRule rule("0.0.0.0", {"Models.example.org"});
    for (const char* host : {"localhost", "127.0.0.1:80", "192.0.2.1:8080", "[2001:db8::1]:80",
                             "models.example.org", "MODELS.example.org:443"})
        EXPECT_TRUE(rule.allows(host)) << host;
    for (const char* host : {"evil.example", "example.org", "x.models.example.org", "", "192.0.2"})
        EXPECT_FALSE(rule.allows(host)) << host;
    EXPECT_THAT(rule.expected(), testing::HasSubstr("models.example.org"));
    EXPECT_TRUE(HostRule("127.0.0.1", {"models.example.org"}).allows("models.example.org"));
    EXPECT_FALSE(HostRule("127.0.0.1", {"models.example.org"}).allows("192.0.2.1"));
}

TEST(HostRule, KnowsTheLoopback) {
    for (const char* address : {"127.0.0.1", "127.255.0.1", "::1"})
        EXPECT_TRUE(is_loopback(address)) << address;
    for (const char* address : {"0.0.0.0", "::", "128.0.0.1", "127.", "localhost", "127.0.0.1.x"})
        EXPECT_FALSE(is_loopback(address)) << address;
}

}  // namespace
}  // namespace cait::serve
