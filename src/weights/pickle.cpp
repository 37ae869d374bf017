#include "weights/pickle.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "base/printable.h"
#include "cait/error.h"
#include "weights/byte_reader.h"
#include "weights/pickle_builder.h"
#include "weights/pickle_text.h"

namespace cait {

namespace {

using Kind = PickleValue::Kind;

constexpr int kHighestProtocol = 5;
// What may be a name or a key is copied: it is looked up later, and what is mapped may change.
constexpr std::size_t kLongestName = std::size_t{1} << 16;

// The stack machine itself: reads opcodes and moves values between stack, memo and builder.
class Unpickler {
public:
    Unpickler(std::span<const std::byte> bytes, const std::string& where)
        : reader_(bytes, where), builder_(where) {}

    PickleDocument run() {
        for (;;) {
            const auto opcode = reader_.number<std::uint8_t>();
            if (opcode == '.') break;
            if (!number(opcode) && !text(opcode) && !container(opcode) && !stack(opcode) &&
                !memo(opcode) && !object(opcode))
                fail(fmt::format("opcode 0x{:02x} is not supported", opcode));
        }
        return builder_.finish(pop(), reader_.position());
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(
            fmt::format("{}: pickle: {} (byte {})", reader_.where(), what, reader_.position()));
    }

    void push(PickleId id) {
        if (stack_.size() + marks_.size() >= PickleBuilder::kMostReferences)
            fail("the stack is too deep");
        stack_.push_back(id);
    }

    // What lies below the last mark is out of reach.
    std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

    PickleId top() const {
        if (stack_.size() <= floor()) fail("the stack is empty");
        return stack_.back();
    }

    PickleId pop() {
        const PickleId id = top();
        stack_.pop_back();
        return id;
    }

    std::vector<PickleId> pop_to_mark() {
        if (marks_.empty()) fail("no mark");
        const auto from = stack_.begin() + std::ptrdiff_t(marks_.back());
        std::vector<PickleId> popped(from, stack_.end());
        stack_.erase(from, stack_.end());
        marks_.pop_back();
        return popped;
    }

    std::vector<PickleId> pop_count(std::size_t count) {
        std::vector<PickleId> popped(count);
        for (std::size_t i = count; i-- > 0;) popped[i] = pop();
        return popped;
    }

    PickleId integer(std::int64_t value) {
        return builder_.add({.kind = Kind::integer, .integer = value});
    }

    PickleId little_endian_integer(std::string_view bytes) {
        if (bytes.size() > sizeof(std::int64_t))
            return builder_.add({.kind = Kind::big_integer, .text = bytes});
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            value |= std::uint64_t(std::uint8_t(bytes[i])) << (8 * i);
        const std::size_t unused = 64 - 8 * bytes.size();
        if (bytes.empty()) return integer(0);
        return integer(std::int64_t(value << unused) >> unused);  // extends the sign
    }

    PickleId decimal_integer(std::string_view line) {
        if (line.ends_with('L')) line.remove_suffix(1);
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
        if (error == std::errc::result_out_of_range)
            return builder_.add({.kind = Kind::big_integer, .text = line});
        if (error != std::errc{} || end != line.data() + line.size())
            fail(fmt::format("'{}' is not an integer", printable(line, 40)));
        return integer(value);
    }

    PickleId decimal_real(std::string_view line) {
        double value = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
        if (error == std::errc::invalid_argument || end != line.data() + line.size())
            fail(fmt::format("'{}' is not a number", printable(line, 40)));
        return builder_.add({.kind = Kind::real, .real = value});
    }

    PickleId big_endian_real() {
        std::uint64_t bits = 0;
        for (const std::byte byte : reader_.take(8)) bits = bits << 8 | std::uint64_t(byte);
        return builder_.add({.kind = Kind::real, .real = std::bit_cast<double>(bits)});
    }

    bool number(std::uint8_t opcode) {
        switch (opcode) {
            case 'N': push(PickleBuilder::kNone); return true;
            case 0x88: push(PickleBuilder::kTrue); return true;
            case 0x89: push(PickleBuilder::kFalse); return true;
            case 'I': {  // INT: a line, where 00 and 01 are booleans
                const std::string_view line = reader_.line();
                if (line == "00" || line == "01")
                    push(line == "01" ? PickleBuilder::kTrue : PickleBuilder::kFalse);
                else
                    push(decimal_integer(line));
                return true;
            }
            case 'L': push(decimal_integer(reader_.line())); return true;
            case 'F': push(decimal_real(reader_.line())); return true;
            case 'J': push(integer(reader_.number<std::int32_t>())); return true;
            case 'K': push(integer(reader_.number<std::uint8_t>())); return true;
            case 'M': push(integer(reader_.number<std::uint16_t>())); return true;
            case 0x8a:  // LONG1
                push(little_endian_integer(reader_.text(reader_.number<std::uint8_t>())));
                return true;
            case 0x8b:  // LONG4
                push(little_endian_integer(reader_.text(reader_.number<std::uint32_t>())));
                return true;
            case 'G': push(big_endian_real()); return true;
            default: return false;
        }
    }

    void push_text(Kind kind, std::uint64_t length) {
        const std::string_view text = reader_.text(length);
        push(kind == Kind::text && text.size() <= kLongestName
                 ? builder_.add_text(std::string(text))
                 : builder_.add({.kind = kind, .text = text}));
    }

    bool text(std::uint8_t opcode) {
        switch (opcode) {
            case 'S': push(builder_.add_text(decode_pickle_string(reader_.line()))); return true;
            case 'V': push(builder_.add_text(decode_pickle_unicode(reader_.line()))); return true;
            case 'T': push_text(Kind::text, reader_.number<std::uint32_t>()); return true;
            case 'U': push_text(Kind::text, reader_.number<std::uint8_t>()); return true;
            case 'X': push_text(Kind::text, reader_.number<std::uint32_t>()); return true;
            case 0x8c: push_text(Kind::text, reader_.number<std::uint8_t>()); return true;
            case 0x8d: push_text(Kind::text, reader_.number<std::uint64_t>()); return true;
            case 'B': push_text(Kind::bytes, reader_.number<std::uint32_t>()); return true;
            case 'C': push_text(Kind::bytes, reader_.number<std::uint8_t>()); return true;
            case 0x8e:
            case 0x96: push_text(Kind::bytes, reader_.number<std::uint64_t>()); return true;
            default: return false;
        }
    }

    std::vector<PickleId> pairs(std::vector<PickleId> content) const {
        if (content.size() % 2 != 0) fail("a key has no value");
        return content;
    }

    void extend_from_mark(Kind kind) {
        const std::vector<PickleId> content = pop_to_mark();
        builder_.extend(top(), kind, kind == Kind::dict ? pairs(content) : content);
    }

    bool container(std::uint8_t opcode) {
        switch (opcode) {
            case ']': push(builder_.add_container(Kind::list)); return true;
            case ')': push(builder_.add_container(Kind::tuple)); return true;
            case '}': push(builder_.add_container(Kind::dict)); return true;
            case 0x8f: push(builder_.add_container(Kind::set)); return true;
            case 'l': push(builder_.add_container(Kind::list, pop_to_mark())); return true;
            case 't': push(builder_.add_container(Kind::tuple, pop_to_mark())); return true;
            case 'd': push(builder_.add_container(Kind::dict, pairs(pop_to_mark()))); return true;
            case 0x91: push(builder_.add_container(Kind::set, pop_to_mark())); return true;
            case 0x85: push(builder_.add_container(Kind::tuple, pop_count(1))); return true;
            case 0x86: push(builder_.add_container(Kind::tuple, pop_count(2))); return true;
            case 0x87: push(builder_.add_container(Kind::tuple, pop_count(3))); return true;
            case 'a': {  // APPEND
                const std::vector<PickleId> item = pop_count(1);
                builder_.extend(top(), Kind::list, item);
                return true;
            }
            case 's': {  // SETITEM
                const std::vector<PickleId> pair = pop_count(2);
                builder_.extend(top(), Kind::dict, pair);
                return true;
            }
            case 'e': extend_from_mark(Kind::list); return true;
            case 'u': extend_from_mark(Kind::dict); return true;
            case 0x90: extend_from_mark(Kind::set); return true;
            default: return false;
        }
    }

    bool stack(std::uint8_t opcode) {
        switch (opcode) {
            case '(':
                if (stack_.size() + marks_.size() >= PickleBuilder::kMostReferences)
                    fail("the stack is too deep");
                marks_.push_back(stack_.size());
                return true;
            case '0':  // POP takes a mark that lies on top
                if (!marks_.empty() && stack_.size() == marks_.back())
                    marks_.pop_back();
                else
                    pop();
                return true;
            case '1': pop_to_mark(); return true;
            case '2': push(top()); return true;
            case 0x80:  // PROTO
                if (const int protocol = reader_.number<std::uint8_t>();
                    protocol > kHighestProtocol)
                    fail(fmt::format("protocol {} is newer than {}", protocol, kHighestProtocol));
                return true;
            case 0x95:  // FRAME
                if (reader_.number<std::uint64_t>() > reader_.remaining())
                    fail("truncated: a frame goes past the end");
                return true;
            default: return false;
        }
    }

    void put(std::uint64_t index) {
        if (index >= PickleBuilder::kMostValues)
            fail(fmt::format("memo index {} is too large", index));
        if (index >= memo_.size()) memo_.resize(std::size_t(index) + 1, kNotInMemo);
        memo_[std::size_t(index)] = top();
    }

    void get(std::uint64_t index) {
        if (index >= memo_.size() || memo_[std::size_t(index)] == kNotInMemo)
            fail(fmt::format("memo has no entry {}", index));
        push(memo_[std::size_t(index)]);
    }

    std::uint64_t decimal_index() {
        const std::int64_t index = builder_.at(decimal_integer(reader_.line())).integer;
        if (index < 0) fail("negative memo index");
        return std::uint64_t(index);
    }

    bool memo(std::uint8_t opcode) {
        switch (opcode) {
            case 'p': put(decimal_index()); return true;
            case 'q': put(reader_.number<std::uint8_t>()); return true;
            case 'r': put(reader_.number<std::uint32_t>()); return true;
            case 0x94: put(memo_.size()); return true;
            case 'g': get(decimal_index()); return true;
            case 'h': get(reader_.number<std::uint8_t>()); return true;
            case 'j': get(reader_.number<std::uint32_t>()); return true;
            default: return false;
        }
    }

    PickleId stack_global() {
        const PickleId name = pop();
        const PickleId module = pop();
        if (builder_.at(name).kind != Kind::text || builder_.at(module).kind != Kind::text)
            fail("the name of a global is not text");
        return builder_.global(builder_.at(module).text, builder_.at(name).text);
    }

    bool object(std::uint8_t opcode) {
        switch (opcode) {
            case 'c': {  // GLOBAL
                const std::string_view module = reader_.line();
                push(builder_.global(module, reader_.line()));
                return true;
            }
            case 0x93: push(stack_global()); return true;
            case 'R':     // REDUCE
            case 0x81: {  // NEWOBJ
                const PickleId arguments = pop();
                push(builder_.call(pop(), arguments));
                return true;
            }
            case 0x92: {  // NEWOBJ_EX
                pop();    // keyword arguments
                const PickleId arguments = pop();
                push(builder_.call(pop(), arguments));
                return true;
            }
            case 'i': {  // INST
                const std::string_view module = reader_.line();
                const PickleId type = builder_.global(module, reader_.line());
                push(builder_.call(type, builder_.add_container(Kind::tuple, pop_to_mark())));
                return true;
            }
            case 'o': {  // OBJ
                std::vector<PickleId> content = pop_to_mark();
                if (content.empty()) fail("an object has no class");
                const PickleId type = content.front();
                content.erase(content.begin());
                push(builder_.call(type, builder_.add_container(Kind::tuple, std::move(content))));
                return true;
            }
            case 'b':  // BUILD: attributes of an object mean nothing to us
                pop();
                top();
                return true;
            case 'Q': push(builder_.persistent(pop())); return true;
            default: return false;
        }
    }

    static constexpr PickleId kNotInMemo = ~PickleId{0};

    ByteReader reader_;
    PickleBuilder builder_;
    std::vector<PickleId> stack_;
    std::vector<std::size_t> marks_;
    std::vector<PickleId> memo_;
};

}  // namespace

PickleDocument parse_pickle(std::span<const std::byte> bytes, const std::string& where) {
    return Unpickler(bytes, where).run();
}

std::string_view kind_name(PickleValue::Kind kind) noexcept {
    constexpr std::array<std::string_view, 15> kNames{
        "None",  "a boolean", "an integer", "an integer", "a number",
        "text",  "bytes",     "a list",     "a tuple",    "a dictionary",
        "a set", "a class",   "a storage",  "a tensor",   "an object"};
    return kNames[std::size_t(kind)];
}

}  // namespace cait
