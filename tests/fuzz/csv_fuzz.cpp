// Any text may be refused with cait::Error; everything else that escapes is a finding. Fields that
// are written again must come back.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cait/error.h"
#include "data/sources/csv_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        cait::CsvReader reader({reinterpret_cast<const char*>(data), size}, "input");
        for (std::vector<std::string> fields; reader.next(fields);) {
            // Not the first row: there a byte order mark would be no part of the field.
            std::string text = "header\n" + cait::csv_field(fields.front());
            for (std::size_t i = 1; i < fields.size(); ++i)
                text += "," + cait::csv_field(fields[i]);
            if (fields.size() == 1 && fields.front().empty()) continue;  // a blank row is none
            std::vector<std::string> again;
            cait::CsvReader written(text, "again");
            if (!written.next(again) || !written.next(again) || again != fields) std::abort();
        }
    } catch (const cait::Error&) {
    }
    return 0;
}
