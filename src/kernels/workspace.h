// Memory that starts at a cache line: a buffer that only grows, and an arena that hands out parts
// of one. The caller of the kernels owns a Workspace and hands it to one call after the other, so
// that nothing is allocated in a step.
#pragma once

#include <memory>
#include <new>

#include "kernels/format.h"

namespace cait::kernels {

class Buffer {
public:
    Buffer() = default;
    explicit Buffer(Index bytes) { grow(bytes); }

    // Room for at least as many bytes; what was in it is lost when it has to grow.
    std::byte* grow(Index bytes) {
        if (bytes > size_) {
            data_.reset();
            data_.reset(static_cast<std::byte*>(
                ::operator new (std::size_t(bytes), std::align_val_t{kAlignment})));
            size_ = bytes;
        }
        return data_.get();
    }
    std::byte* data() const { return data_.get(); }
    float* floats() const { return reinterpret_cast<float*>(data_.get()); }
    Index size() const { return size_; }

private:
    struct Release {
        void operator()(std::byte* data) const {
            ::operator delete (data, std::align_val_t{kAlignment});
        }
    };
    std::unique_ptr<std::byte, Release> data_;
    Index size_ = 0;
};

// Parts of a piece of memory, one after the other. Started at null it only adds up: the same code
// says how much is needed and takes it.
class Arena {
public:
    explicit Arena(std::byte* memory = nullptr) : memory_(memory) {}

    std::byte* take(Index bytes) {
        std::byte* part = memory_ == nullptr ? nullptr : memory_ + used_;
        used_ += aligned(bytes);
        return part;
    }
    float* floats(Index count) { return reinterpret_cast<float*>(take(count * 4)); }
    // As a product's left-hand side has to lie.
    MutableRows rows(Format format, Index rows, Index columns) {
        return {take(lhs_bytes(format, rows, columns)), format, lhs_ld(format, columns)};
    }
    Index used() const { return used_; }

private:
    std::byte* memory_;
    Index used_ = 0;
};

// What `make(Arena&)` takes, once for each worker, behind `shared` bytes that all have.
template <class Make>
class PerWorker {
public:
    PerWorker(Buffer& buffer, int workers, Make make, Index shared = 0) : make_(make) {
        Arena counted;
        make_(counted);
        each_ = counted.used();
        shared_ = buffer.grow(aligned(shared) + each_ * workers);
        first_ = shared_ + aligned(shared);
    }
    std::byte* shared() const { return shared_; }
    auto operator()(int worker) const {
        Arena arena(first_ + worker * each_);
        return make_(arena);
    }

private:
    Make make_;
    Index each_ = 0;
    std::byte* shared_ = nullptr;
    std::byte* first_ = nullptr;
};

struct Workspace {
    Buffer memory;
    Buffer list;     // which images are computed
    Buffer between;  // what one step of a call leaves to the next

    Index bytes() const { return memory.size() + list.size() + between.size(); }
    // As large as another one.
    void match(const Workspace& other) {
        memory.grow(other.memory.size());
        list.grow(other.list.size());
        between.grow(other.between.size());
    }
};

}  // namespace cait::kernels
