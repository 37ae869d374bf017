#include "serve/http/connection_set.h"

#include <thread>

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

class FakeConnection : public ConnectionBase {
public:
    FakeConnection(ConnectionSet& set, const std::string& peer) : place(set, this, peer, 1024) {}
    void close() noexcept override {
        closed = true;
        place.leave();
    }
    void finish() override {}

    Membership place;
    bool closed = false;
};

class ConnectionSetTest : public testing::Test {
protected:
    FakeConnection& add(Members& list, const std::string& peer = "a") {
        all_.push_back(std::make_unique<FakeConnection>(set_, peer));
        all_.back()->place.move_to(list);
        return *all_.back();
    }

    boost::asio::io_context loop_;
    Limits limits_;
    HttpHooks hooks_;
    ConnectionSet set_{loop_, limits_, hooks_, std::make_shared<MemoryAccount>(1 << 20)};
    std::vector<std::unique_ptr<FakeConnection>> all_;
};

TEST_F(ConnectionSetTest, RoomIsMadeByThoseWhoWaitForNothing) {
    EXPECT_FALSE(set_.make_room());
    FakeConnection& active = add(set_.active);
    EXPECT_FALSE(set_.make_room());
    FakeConnection &first = add(set_.opening), &second = add(set_.opening), &idle = add(set_.idle);
    EXPECT_EQ(set_.size(), 4U);
    EXPECT_TRUE(set_.make_room());  // a head that has just begun may still come
    EXPECT_TRUE(idle.closed);
    EXPECT_TRUE(set_.make_room());
    EXPECT_TRUE(first.closed);
    EXPECT_FALSE(second.closed);
    FakeConnection& later = add(set_.idle);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    EXPECT_TRUE(set_.make_room());  // but not for ever
    EXPECT_TRUE(second.closed);
    EXPECT_FALSE(later.closed);
    EXPECT_FALSE(active.closed);
}

TEST_F(ConnectionSetTest, WhoHasTheMostConnectionsGivesOne) {
    FakeConnection& lonely = add(set_.idle, "b");
    FakeConnection &one = add(set_.idle, "a"), &two = add(set_.idle, "a");
    EXPECT_TRUE(set_.make_room());
    EXPECT_TRUE(one.closed);
    EXPECT_FALSE(lonely.closed);
    EXPECT_TRUE(set_.make_room());  // as many as the other: the first
    EXPECT_TRUE(lonely.closed);
    EXPECT_FALSE(two.closed);
    EXPECT_EQ(set_.by_peer.size(), 1U);
    two.close();
    EXPECT_TRUE(set_.by_peer.empty());
    EXPECT_EQ(set_.size(), 0U);
}

}  // namespace
}  // namespace cait::serve
