#include "data/formats/xml_element.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"

namespace cait {

namespace {

constexpr std::string_view kXmlBlank = " \t\r\n";

bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
}

void append_utf8(std::uint32_t code, std::string& out) {
    if (code < 0x80) {
        out += char(code);
        return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::array<std::uint32_t, 4> kFirst{0, 0xC0, 0xE0, 0xF0};
    out += char(kFirst[std::size_t(more)] | code >> (6 * more));
    for (int i = more - 1; i >= 0; --i) out += char(0x80 | ((code >> (6 * i)) & 0x3F));
}

class XmlReader {
public:
    XmlReader(std::string_view text, const std::string& file) : text_(text), file_(file) {
        constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
        if (text_.starts_with(kByteOrderMark)) skip(kByteOrderMark.size());
        if (text_.size() > kLargestXml) fail(fmt::format("expected at most {} bytes", kLargestXml));
        if (text_.find('\0') != std::string_view::npos) fail("expected text, found a zero byte");
    }

    XmlElement document() {
        skip_between();
        if (!opens_element()) fail("expected an element");
        XmlElement root = element();
        skip_between();
        if (position_ < text_.size()) fail("expected the end after the outermost element");
        return root;
    }

private:
    // The elements that are open, outermost first; without recursion, so that no depth of nesting
    // costs more than memory that is bounded.
    XmlElement element() {
        std::vector<XmlElement> open;
        while (true) {
            if (opens_element()) {
                XmlElement next;
                const bool is_empty = start_tag(next);
                open.push_back(std::move(next));
                if (open.size() > kDeepestXml)
                    fail(fmt::format("expected at most {} elements in each other", kDeepestXml));
                if (!is_empty) continue;
            } else if (at("</")) {
                end_tag(open.back());
            } else {
                content(open.back());
                continue;
            }
            XmlElement done = std::move(open.back());
            open.pop_back();
            trim(done.text);
            if (open.empty()) return done;
            open.back().children.push_back(std::move(done));
        }
    }

    bool opens_element() const {
        return at("<") && position_ + 1 < text_.size() && is_name_byte(text_[position_ + 1]);
    }

    // True for <a/>.
    bool start_tag(XmlElement& element) {
        if (++elements_ > kMostXmlElements)
            fail(fmt::format("expected at most {} elements", kMostXmlElements));
        element.line = line_;
        skip(1);
        element.name = name();
        while (true) {
            skip_blank();
            if (at("/>") || at(">")) break;
            name();
            skip_blank();
            expect("=");
            skip_blank();
            const char quote = position_ < text_.size() ? text_[position_] : '\0';
            if (quote != '"' && quote != '\'') fail("expected the value of an attribute in quotes");
            skip(1);
            skip_past(std::string_view(&quote, 1), "the end of the value of an attribute");
        }
        const bool is_empty = at("/>");
        skip(is_empty ? 2 : 1);
        return is_empty;
    }

    void end_tag(const XmlElement& element) {
        skip(2);
        const std::string found = name();
        if (found != element.name)
            fail(fmt::format("expected </{}>, found </{}>", display_name(element.name),
                             display_name(found)));
        skip_blank();
        expect(">");
    }

    void content(XmlElement& element) {
        if (skip_note()) return;
        if (at("<![CDATA[")) {
            skip(9);
            const std::size_t begin = position_;
            skip_past("]]>", "the end of CDATA");
            element.text += text_.substr(begin, position_ - 3 - begin);
        } else if (at("&")) {
            reference(element.text);
        } else if (at("<") || position_ == text_.size()) {
            fail(fmt::format("expected </{}>", display_name(element.name)));
        } else {
            const std::size_t end = std::min(text_.find_first_of("<&", position_), text_.size());
            element.text += text_.substr(position_, end - position_);
            skip(end - position_);
        }
    }

    // &lt; and its like, &#65; and &#x41;
    void reference(std::string& out) {
        constexpr std::size_t kLongest = 10;
        const std::size_t end = text_.substr(position_, kLongest + 2).find(';');
        if (end == std::string_view::npos) fail("expected ';' after '&'");
        const std::string_view name = text_.substr(position_ + 1, end - 1);
        constexpr std::array<std::pair<std::string_view, char>, 5> kNamed{
            {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}}};
        const auto found = std::ranges::find(kNamed, name, &decltype(kNamed)::value_type::first);
        if (found != kNamed.end())
            out += found->second;
        else
            append_utf8(code_of(name), out);
        skip(end + 1);
    }

    std::uint32_t code_of(std::string_view name) const {
        const bool is_number = name.starts_with('#');
        const bool is_hex = name.starts_with("#x");
        const std::string_view digits = is_number ? name.substr(is_hex ? 2 : 1) : "";
        std::uint32_t code = 0;
        const auto [stop, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
        const bool is_surrogate = code >= 0xD800 && code < 0xE000;
        if (error != std::errc{} || stop != digits.data() + digits.size() || code == 0 ||
            code > 0x10FFFF || is_surrogate)
            fail(fmt::format("expected a character such as &amp; or &#38;, found {}",
                             display_name(name)));
        return code;
    }

    // A comment or an instruction; false where neither is here.
    bool skip_note() {
        if (at("<!--")) {
            skip(4);
            skip_past("-->", "the end of a comment");
            return true;
        }
        if (!at("<?")) return false;
        skip(2);
        skip_past("?>", "the end of an instruction");
        return true;
    }

    void skip_between() {
        do skip_blank();
        while (skip_note());
        if (at("<!")) fail("expected an element, found a document type, which is not read");
    }

    std::string name() {
        const std::size_t begin = position_;
        while (position_ < text_.size() && is_name_byte(text_[position_])) ++position_;
        if (position_ == begin) fail("expected a name");
        return std::string(text_.substr(begin, position_ - begin));
    }

    bool at(std::string_view what) const { return text_.substr(position_).starts_with(what); }

    void expect(std::string_view what) {
        if (!at(what)) fail(fmt::format("expected '{}'", what));
        skip(what.size());
    }

    void skip(std::size_t bytes) {
        line_ += std::size_t(std::ranges::count(text_.substr(position_, bytes), '\n'));
        position_ += bytes;
    }

    void skip_blank() {
        const std::size_t end =
            std::min(text_.find_first_not_of(kXmlBlank, position_), text_.size());
        skip(end - position_);
    }

    void skip_past(std::string_view what, const char* meaning) {
        const std::size_t end = text_.find(what, position_);
        if (end == std::string_view::npos) fail(fmt::format("expected {}", meaning));
        skip(end + what.size() - position_);
    }

    static void trim(std::string& text) {
        const std::size_t end = text.find_last_not_of(kXmlBlank);
        text.erase(end == std::string::npos ? 0 : end + 1);
        text.erase(0, std::min(text.find_first_not_of(kXmlBlank), text.size()));
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw Error(fmt::format("{}:{}: {}", file_, line_, what));
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t position_ = 0, line_ = 1, elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view of) const {
    const auto found = std::ranges::find(children, of, &XmlElement::name);
    return found == children.end() ? nullptr : &*found;
}

std::string XmlElement::text_of(std::string_view of) const {
    const XmlElement* const found = child(of);
    return found == nullptr ? std::string() : found->text;
}

XmlElement read_xml(std::string_view text, const std::string& file) {
    return XmlReader(text, file).document();
}

}  // namespace cait
