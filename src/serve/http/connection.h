// One connection in the event loop: reads a request, waits for its answer, writes it, begins again.
// Every state has a deadline, so that a client that is slow or silent costs a descriptor for a
// while and nothing else. Every handler runs behind guard(): an exception, whatever it is, ends the
// connection and not the server.
#pragma once

#include <poll.h>

#include <array>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "serve/http/connection_set.h"
#include "serve/http/deadline.h"
#include "serve/http/request_reader.h"

namespace cait::serve {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

template <class Stream>
class Connection final : public ConnectionBase,
                         public std::enable_shared_from_this<Connection<Stream>> {
public:
    Connection(Stream stream, ConnectionSet& set, std::string peer)
        : stream_(std::move(stream)),
          deadline_(set.loop),
          set_(set),
          membership_(set, this, peer, kOwnBytes),
          peer_(std::move(peer)),
          out_memory_(set.memory, Charge::Stage::small) {}

    void start() {
        guard([this] {
            if constexpr (kTls) {
                deadline_.set(set_.limits.head_time);
                deadline_.watch(self());
                stream_.async_handshake(Stream::server, [self = self()](ErrorCode problem) {
                    self->guard([&] { problem ? self->close() : self->await_request(); });
                });
            } else {
                await_request();
                deadline_.watch(self());
            }
        });
    }

    // Does `work`; whatever escapes from it is logged and ends this connection, with an answer
    // where one can still be given.
    template <class Work>
    void guard(const Work& work) noexcept {
        try {
            work();
        } catch (...) {
            set_.report_fault();
            try {
                if (phase_ == Phase::reading && !continuing_)
                    return refuse(std::current_exception());
            } catch (...) {  // no memory for that either
                return close();
            }
            close();
        }
    }

    void close() noexcept override {
        if (phase_ == Phase::closed) return;
        phase_ = Phase::closed;
        *gone_ = true;
        ErrorCode ignored;
        socket().close(ignored);
        deadline_.cancel();
        membership_.leave();
        set_.on_closed();
    }
    bool is_closed() const { return phase_ == Phase::closed; }

    void finish() override {  // others close after their answer
        if (phase_ == Phase::idle) deadline_.set(kLastChance);
    }

    void run_out_of_time() {
        if (phase_ == Phase::reading && !continuing_)
            refuse(HttpError(408, "request: it did not come in time"));
        else if (phase_ == Phase::answering && !*answer_lost_)
            deadline_.set(kLookAgain);  // the computation has deadlines of its own
        else
            close();
    }

private:
    enum class Phase { handshake, idle, reading, answering, writing, lingering, closed };
    static constexpr bool kTls = !std::is_same_v<Stream, Tcp::socket>;
    static constexpr std::size_t kIdleBuffer = 4096, kBodyBuffer = 65536;
    static constexpr std::size_t kSmallAnswer = 1024;
    static constexpr std::size_t kSmallBody = 262'144;  // read to its end although it is refused
    // When the server stops: for a request that was sent before its client could know.
    static constexpr std::chrono::milliseconds kLastChance{300};
    static constexpr std::size_t kMostLingering = std::size_t{8} << 20;
    static constexpr std::chrono::milliseconds kLookAgain{10'000};
    // What each one takes, with its buffer while it is idle; TLS has buffers of its own.
    static constexpr std::size_t kOwnBytes = (kTls ? 40 : 8) * std::size_t{1024};

    std::shared_ptr<Connection> self() { return this->shared_from_this(); }
    auto& socket() { return stream_.lowest_layer(); }

    double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
    std::chrono::milliseconds time_for(std::size_t bytes) const {
        const std::chrono::milliseconds moving(1000 * bytes / set_.limits.slowest);
        return set_.limits.slack + std::min(moving, set_.limits.longest);
    }

    // ---- reading

    void await_request() {
        phase_ = Phase::idle;
        membership_.move_to(set_.idle);
        deadline_.set(set_.limits.idle);
        use_buffer(kIdleBuffer);
        if (set_.draining && socket_is_silent()) return close();
        read();
    }
    bool socket_is_silent() {
        ErrorCode ignored;
        return socket().available(ignored) == 0;
    }

    // Not while somebody reads into it.
    void use_buffer(std::size_t size) {
        if (reading_ || in_.size() == size) return;
        membership_.hold_buffer(size > kIdleBuffer ? size : 0);
        in_ = std::vector<char>(size);
    }

    void read() {
        if (std::exchange(reading_, true)) return;
        stream_.async_read_some(asio::buffer(in_),
                                [self = self()](ErrorCode problem, std::size_t count) {
                                    self->guard([&] { self->take(problem, count); });
                                });
    }

    void take(ErrorCode problem, std::size_t count) {
        reading_ = false;
        if (phase_ == Phase::closed) return;
        if (problem) return close();
        if (phase_ == Phase::lingering) {
            lingered_ += count;
            return lingered_ > kMostLingering ? close() : read();
        }
        if (phase_ == Phase::writing) return;  // a refusal is on its way; nothing more is heard
        consume({in_.data(), count});
    }

    void consume(std::string_view bytes) {
        if (phase_ == Phase::idle) {
            phase_ = Phase::reading;
            membership_.move_to(set_.opening);
            begun_ = Clock::now();
            received_ = 0;
            deadline_.set(set_.limits.head_time);
            reader_.emplace(set_.limits, set_.memory);
            refusal_.reset();
            head_seen_ = false;
        }
        received_ += bytes.size();
        try {
            const RequestReader::Progress progress = reader_->feed(bytes);
            if (progress != RequestReader::Progress::head && !head_seen_) see_head();
            if (phase_ != Phase::reading) return;
            if (progress == RequestReader::Progress::done) return complete();
            if (head_seen_) deadline_.set(begun_ + time_for(received_));
            if (!continuing_) read();
        } catch (const HttpError& error) {
            refuse(error);
        }
    }

    void see_head() {
        head_seen_ = true;
        membership_.move_to(set_.active);
        refusal_ = set_.hooks.on_head(reader_->request());
        const std::size_t missing = reader_->missing();
        if (missing > 0) use_buffer(kBodyBuffer);
        if (refusal_ && (missing > kSmallBody || (missing > 0 && reader_->expects_continue()))) {
            keep_alive_ = false;  // it need not send the rest
            return write(std::move(*refusal_));
        }
        if (missing > 0 && reader_->expects_continue()) {
            static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
            continuing_ = true;
            asio::async_write(stream_, asio::buffer(kContinue),
                              [self = self()](ErrorCode problem, std::size_t) {
                                  self->continuing_ = false;
                                  self->guard([&] {
                                      if (self->phase_ != Phase::reading) return;
                                      problem ? self->close() : self->read();
                                  });
                              });
        }
    }

    void refuse(const HttpError& error) {
        keep_alive_ = false;
        if (set_.hooks.on_refused) set_.hooks.on_refused(error.status(), seconds());
        write(error_response(error.status(), error.what()));
    }
    void refuse(const std::exception_ptr& fault) {
        try {
            std::rethrow_exception(fault);
        } catch (const HttpError& error) {
            refuse(error);
        } catch (const std::bad_alloc&) {
            refuse(HttpError(503, "server: out of memory"));
        } catch (...) {
            refuse(HttpError(400, "request: it cannot be read"));
        }
    }

    // ---- answering

    void complete() {
        keep_alive_ = reader_->keep_alive() && !set_.draining;
        head_only_ = reader_->request().method == "HEAD";
        if (refusal_) return write(std::move(*refusal_));
        phase_ = Phase::answering;
        deadline_.set(kLookAgain);
        auto request = std::make_shared<Request>(reader_->take());
        method_ = request->method;
        target_ = request->target;
        body_received_ = request->body.size();
        request->peer = peer_;
        request->arrived = begun_;
        gone_ = request->gone;
        use_buffer(kIdleBuffer);
        watch_client();
        set_.hooks.on_request(std::move(request), make_reply());
    }

    // A client that has left shows as an error: its system resets the connection. The end of what
    // can be read says nothing, for a client may close its own direction after its last byte and
    // wait for the answer.
    void watch_client() {
        if (std::exchange(watching_, true)) return;
        socket().async_wait(Tcp::socket::wait_error, [self = self()](ErrorCode problem) {
            self->watching_ = false;
            pollfd state{self->socket().native_handle(), 0, 0};  // asks for errors alone
            if (!problem && ::poll(&state, 1, 0) > 0) *self->gone_ = true;
        });
    }

    // Answers 500 where nobody answers. Called by any thread; where memory does not suffice to
    // answer, the connection finds out by itself, some time later.
    class Answer {
    public:
        explicit Answer(std::shared_ptr<Connection> to)
            : lost_(to->answer_lost_), to_(std::move(to)) {}
        Answer(const Answer&) = delete;
        Answer& operator=(const Answer&) = delete;
        ~Answer() {
            if (given_) return;
            try {
                give(error_response(500, "server: no answer"));
            } catch (...) {
                *lost_ = true;
            }
        }
        void give(Response response) {
            if (given_.exchange(true)) return;
            asio::io_context& loop = to_->set_.loop;
            try {
                asio::post(loop, [to = std::move(to_), answer = std::move(response)]() mutable {
                    to->guard([&] {
                        if (to->phase_ == Phase::answering) to->write(std::move(answer));
                    });
                });
            } catch (...) {
                *lost_ = true;
                throw;
            }
        }

    private:
        const std::shared_ptr<std::atomic<bool>> lost_;
        std::shared_ptr<Connection> to_;
        std::atomic<bool> given_ = false;
    };

    Reply make_reply() {
        return [answer = std::make_shared<Answer>(self())](Response response) {
            answer->give(std::move(response));
        };
    }

    void write(Response response) {
        if (reader_ && target_.empty()) {
            method_ = reader_->request().method;
            target_ = reader_->request().target;
        }
        if (set_.draining) keep_alive_ = false;
        // Many small ones that nobody reads are much, too.
        if (!response.memory && response.body.capacity() > kSmallAnswer &&
            !out_memory_.try_hold(response.body.capacity()))
            response = error_response(503, "server: its memory is taken at the moment, try again");
        phase_ = Phase::writing;
        out_ = std::move(response);
        out_head_ = response_head(out_, keep_alive_);
        deadline_.set(time_for(out_.body.size()));
        const std::array<asio::const_buffer, 2> buffers{
            asio::buffer(out_head_), head_only_ ? asio::const_buffer() : asio::buffer(out_.body)};
        asio::async_write(stream_, buffers, [self = self()](ErrorCode problem, std::size_t) {
            self->guard([&] {
                if (self->phase_ == Phase::closed) return;
                self->report();
                if (problem) return self->close();
                self->after_answer();
            });
        });
    }

    void report() {
        if (set_.hooks.on_answer)
            set_.hooks.on_answer({peer_, method_, target_, out_.status, body_received_,
                                  head_only_ ? 0 : out_.body.size(), seconds()});
    }

    void after_answer() {
        std::string rest = reader_ && keep_alive_ ? reader_->rest() : std::string();
        reader_.reset();
        out_ = {};
        out_memory_.lower_to(0);
        method_.clear();
        target_.clear();
        body_received_ = 0;
        head_only_ = false;
        if (!keep_alive_) return linger();
        if (rest.empty()) return await_request();
        phase_ = Phase::idle;
        consume(rest);
    }

    // What is still being sent is swallowed: closing at once would take the answer away from a
    // client that has not read it yet.
    void linger() {
        phase_ = Phase::lingering;
        membership_.move_to(set_.idle);  // it makes room for others
        deadline_.set(std::chrono::seconds(2));
        ErrorCode problem;
        socket().shutdown(Tcp::socket::shutdown_send, problem);
        if (problem) return close();
        read();
    }

    Stream stream_;
    Deadline deadline_;
    ConnectionSet& set_;
    Membership membership_;
    std::string peer_;
    Phase phase_ = Phase::handshake;
    Clock::time_point begun_;
    std::vector<char> in_;
    std::optional<RequestReader> reader_;
    std::optional<Response> refusal_;
    bool head_seen_ = false, keep_alive_ = false, head_only_ = false;
    bool reading_ = false, watching_ = false, continuing_ = false;
    std::size_t received_ = 0, lingered_ = 0, body_received_ = 0;
    std::string method_, target_;
    std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);
    const std::shared_ptr<std::atomic<bool>> answer_lost_ =
        std::make_shared<std::atomic<bool>>(false);
    Response out_;
    Charge out_memory_;  // for an answer that was not charged to its request
    std::string out_head_;
};

}  // namespace cait::serve
